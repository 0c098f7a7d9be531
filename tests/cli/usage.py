"""Help, mistakes on the command line, and where options may stand."""

import os
import subprocess

from harness import BLOCK, FIRN, Case, attribute, main

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")
VERBS = ["run", "check", "info", "measure", "wedge", "convert", "render", "analyze", "bench", "schema", "reference"]


class Help(Case):
    def assert_golden(self, name, text):
        path = os.path.join(GOLDEN, name)
        if os.environ.get("FIRN_WRITE_GOLDEN"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(text, file.read())

    def test_every_help_page(self):
        out, err = self.firn("--help")
        self.assert_golden("help.txt", out)
        self.assertEqual(err, "")
        for verb in VERBS:
            with self.subTest(verb=verb):
                out, err = self.firn(verb, "--help")
                self.assertEqual(err, "")
                self.assert_golden(f"{verb}.txt", out)
                self.assertEqual(self.firn("help", verb)[0], out)
                self.assertLessEqual(max(map(len, out.splitlines())), 100)

    def test_nothing_asked(self):
        out, err = self.firn(code=2)
        self.assertEqual(out, "")
        self.assertIn("Usage: firn VERB", err)

    def test_version(self):
        out, _ = self.firn("--version")
        self.assertRegex(out, r"\Afirn \d+\.\d+\.\d+\n.*backends: .*ref")


class Mistakes(Case):
    def assert_mistake(self, expected, *arguments):
        out, err = self.firn(*arguments, code=2)
        self.assertEqual(out, "")
        self.assertIn(expected, err)

    def test_verbs(self):
        self.assert_mistake("unknown verb 'rum'; did you mean 'run'?", "rum", "x.yaml")
        self.assert_mistake("unknown verb 'chekc'; did you mean 'check'?", "chekc")
        self.assert_mistake("unknown verb 'frobnicate'\n", "frobnicate")
        self.assert_mistake("unknown option '--frames'", "--frames", "3")

    def test_options(self):
        run = ["run", self.scene]
        self.assert_mistake("unknown option '--frame'; did you mean '--frames'?", *run, "--frame", "3")
        self.assert_mistake("unknown option '--max-hour'; did you mean '--max-hours'?", *run, "--max-hour=3")
        self.assert_mistake("unknown option '--zebra'\n", *run, "--zebra")
        self.assert_mistake("unknown option '-z'", *run, "-z")
        self.assert_mistake("unknown option '-qv'", *run, "-qv")
        self.assert_mistake("--frames needs a value: N", *run, "--frames")
        self.assert_mistake("--output needs a value: DIR", *run, "-o", "--quiet")
        self.assert_mistake("--quiet takes no value", *run, "--quiet=yes")
        self.assert_mistake("--output takes DIR, not an empty text", *run, "--output=")
        self.assert_mistake("--frames and --steps exclude each other", *run, "--frames", 1, "--steps", 2)

    def test_numbers(self):
        run = ["run", self.scene]
        for word in ["", "x", "3x", "1.5", "0x10", "1e3"]:
            self.assert_mistake(f"--frames takes a whole number, not '{word}'", *run, f"--frames={word}")
        self.assert_mistake("--frames must be from 0 to 1e+09, not -1", *run, "--frames", "-1")
        self.assert_mistake("--frames must be from 0", *run, "--frames", "99999999999999999999")
        for word in ["", "soon", "nan", "inf", "1e999", "1h"]:
            self.assert_mistake(f"--max-hours takes a number, not '{word}'", *run, f"--max-hours={word}")
        self.assert_mistake("--checkpoint-every must be at least 0, not -2", *run, "--checkpoint-every", "-2")
        self.assert_mistake("--threads must be from 1", *run, "--threads", "0")
        self.assert_mistake("--kernel is one of cubic|quadratic, not 'cub'", "bench", "--kernel", "cub")

    def test_operands(self):
        self.assert_mistake("missing argument: SCENE", "run")
        self.assert_mistake("missing argument: SCENE", "check", "--json")
        self.assert_mistake("missing argument: FILE...", "info")
        self.assert_mistake("unexpected argument 'b.yaml'", "run", "a.yaml", "b.yaml")
        self.assert_mistake("unexpected argument 'x'", "schema", "x")
        self.assert_mistake("missing option: -o FILE.png, FILE.exr or FILE.mp4", "render", "x")
        self.assert_mistake("ends in .png, .exr or .mp4", "render", "x", "-o", "x.tiff")
        self.assert_mistake("--size is WIDTHxHEIGHT", "render", "x", "-o", "x.png", "--size", "40")
        self.assert_mistake("unknown backend 'abacus'", "run", self.scene, "--backend", "abacus")


class Places(Case):
    """Options before, between and after; every way to give a value."""

    def steps(self, *arguments):
        self.firn("run", *arguments, "--resume", "never", "--checkpoint", "end.h5", "-q")
        return attribute(self.path("end.h5"), "step")

    def test_options_anywhere(self):
        self.assertEqual(self.steps("--steps", "3", self.scene), 3)
        self.assertEqual(self.steps(self.scene, "--steps=4"), 4)
        self.assertEqual(self.steps("--steps", "9", self.scene, "--steps", "2"), 2)

    def test_default_folder_and_letters(self):
        self.steps(self.scene, "--steps", "1")
        self.assertTrue(os.path.exists(self.path("runs", "block", "frame_0000.hdf")))
        self.steps("-oelsewhere", self.scene, "--steps", "1")
        self.assertTrue(os.path.exists(self.path("elsewhere", "log.jsonl")))

    def test_two_dashes(self):
        self.write("--odd.yaml", BLOCK)
        self.firn("check", "--", "--odd.yaml")
        self.firn("check", "--odd.yaml", code=2)

    def test_sets(self):
        self.steps(
            self.scene, "--set", "simulation.cell_size=0.04", "--set=simulation.kernel=quadratic",
            "--set", "snow.block.velocity=[0, -1]", "--steps", "1",
        )
        self.assertEqual(attribute(self.path("end.h5"), "cell_size"), 0.04)
        self.assertIn("quadratic", str(attribute(self.path("end.h5"), "kernel")))

    def test_stdout_is_data(self):
        out, err = self.firn("run", self.scene, "--frames", 1)
        self.assertEqual(out, "")
        self.assertIn("frame 1/1", err)
        _, err = self.firn("run", self.scene, "--frames", 1, "--resume", "never", "--quiet")
        self.assertEqual(err, "")

    def test_stdout_that_fails(self):
        for arguments in (["--help"], ["schema"], ["check", self.scene]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([FIRN, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 74, done.stderr)


if __name__ == "__main__":
    main()
