"""check, info, render, bench, schema and reference."""

import json
import os
import struct
import subprocess

from harness import BLOCK, FIRN, Case, main, particles

CHECK_FIELDS = """scene name fingerprint dimensions frames fps cell_size kernel transfer
integrator particles particles_per_cell occupied_cells active_nodes mass memory_bytes frame_bytes wave_speed stable_dt steps seconds
warnings""".split()
BENCH_FIELDS = """scene backend kernel transfer integrator particles particles_per_cell threads steps dt
ns_per_particle_step stages solver_iterations ns_per_particle_iteration peak_bytes machine""".split()


class Check(Case):
    def test_json(self):
        out, _ = self.firn("check", self.scene, "--json")
        found = json.loads(out)
        self.assertEqual(list(found), CHECK_FIELDS)
        self.firn("run", self.scene, "-o", "out", "--frames", 0)
        mass = particles(self.path("out", "checkpoint.h5"), "mass")
        self.assertEqual(found["particles"], len(mass))
        self.assertAlmostEqual(found["mass"], mass.sum(), delta=1e-6)
        self.assertGreater(found["stable_dt"], 0)
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_people(self):
        out, err = self.firn("check", self.scene, "--set", "simulation.frames=48")
        self.assertRegex(out, r"(?m)^time +48 frames at 240 a second: 0\.2 s$")
        self.assertRegex(out, r"(?m)^particles +\d+ ")
        self.assertRegex(out, r"(?m)^colliders +ground$")
        self.assertNotIn("error", err)

    def test_names_are_escaped(self):
        name = 'a "quoted" \\ café ❄ 𝒮'
        quoted = json.dumps(name, ensure_ascii=False)
        scene = self.write("odd.yaml", BLOCK.replace("name: block\nsim", f"name: {quoted}\nsim"))
        out, _ = self.firn("check", scene, "--json")
        self.assertEqual(json.loads(out)["name"], name)

    def test_paths_that_are_not_text(self):
        path = os.fsencode(self.home) + b"/bad\xff\t\xc3.yaml"
        os.link(self.scene, path)
        done = subprocess.run([FIRN, b"check", path, b"--json"], capture_output=True, check=True)
        self.assertEqual(os.path.basename(json.loads(done.stdout)["scene"]), "bad\ufffd\t\ufffd.yaml")

    def test_warnings(self):
        out, err = self.firn("check", self.scene, "--json", "--set", "simulation.time_step=0.01")
        warnings = json.loads(out)["warnings"]
        self.assertTrue(warnings)
        for warning in warnings:
            self.assertIn(f"warning: {warning}", err)


class Info(Case):
    def test_files(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 1)
        count = len(particles(self.path("out", "checkpoint.h5"), "mass"))
        out, _ = self.firn("info", "out/checkpoint.h5", "out/frame_0001.hdf")
        self.assertEqual(out.count(str(count)) >= 2, True, out)
        self.assertIn("velocity", out)
        out, err = self.firn("info", "none.h5", "out/checkpoint.h5", code=66)
        self.assertIn("velocity", out)
        self.assertIn("none.h5", err)

    def test_foreign_file(self):
        _, err = self.firn("info", self.scene, code=65)
        self.assertIn("block.yaml", err)


class Render(Case):
    def size(self, name):
        with open(self.path(name), "rb") as file:
            head = file.read(24)
        self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        return struct.unpack(">II", head[16:24])

    def test_sheet(self):
        self.firn("run", self.scene, "-o", "out")
        self.firn("render", "out", "-o", "one.png", "--sheet", "--moments", 1, "--size", "160x120")
        width, height = self.size("one.png")
        self.firn("render", "out", "-o", "four.png", "--sheet", "--moments", 4, "--columns", 4, "--size",
                  "160x120", "--colour", "speed", "--scene", self.scene)
        self.assertGreaterEqual(self.size("four.png")[0], 4 * 160)
        self.assertLess(self.size("four.png")[1], 2 * height)
        self.firn("render", "out/frame_0000.hdf", "out/checkpoint.h5", "-o", "two.png", "--sheet", "--columns",
                  1, "--size", "160x120")
        for colour in ("density", "J_P", "object", "material", "id"):
            self.firn("render", "out", "-o", f"{colour}.png", "--preview", "--colour", colour, "--size", "80x60")
            self.assertEqual(self.size(f"{colour}.png"), (80, 60))
        _, err = self.firn("render", "out/frame_0000.hdf", "out/checkpoint.h5", "-o", "no.png", code=2)
        self.assertIn("--sheet", err)
        self.assertGreaterEqual(self.size("two.png")[1], 240)
        self.assertGreaterEqual(width, 160)

    def test_cannot_write(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 0)
        self.firn("render", "out", "--preview", "-o", "/proc/firn/x.png", code=74)


class Bench(Case):
    def test_json(self):
        out, _ = self.firn("bench", "--json", "--particles", 512, "--steps", 5, "--repeats", 3)
        cases = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(
            [(case["kernel"], case["transfer"]) for case in cases],
            [(kernel, transfer) for kernel in ("cubic", "quadratic") for transfer in ("flip", "apic", "mls")],
        )
        for case in cases:
            self.assertLessEqual(set(BENCH_FIELDS), set(case))
            self.assertAlmostEqual(case["particles"] / 512, 1, delta=0.2)
            self.assertGreater(case["ns_per_particle_step"], 0)
            self.assertLessEqual(sum(case["stages"].values()), 1.1 * case["ns_per_particle_step"])
            self.assertGreater(case["dt"], 0)
            self.assertGreater(case["peak_bytes"], 1e5)
            self.assertIsNone(case["ns_per_particle_iteration"])

    def test_one_case_and_scene(self):
        out, _ = self.firn("bench", "--particles", 512, "--steps", 2, "--repeats", 1, "--kernel", "quadratic",
                           "--transfer", "mls", "--threads", 1)
        self.assertEqual(len([line for line in out.splitlines() if "quadratic" in line]), 1)
        out, _ = self.firn("bench", "--scene", self.scene, "--json", "--steps", 2, "--kernel", "quadratic")
        case = json.loads(out)
        self.assertEqual((case["scene"], case["kernel"]), (self.scene, "quadratic"))

    def test_set(self):
        for scene in ["--particles", 512], ["--scene", self.scene]:
            out, _ = self.firn("bench", *scene, "--json", "--steps", 2, "--repeats", 1, "--kernel", "quadratic", "--transfer",
                               "apic", "--set", "simulation.time_step=1.25e-5")
            self.assertAlmostEqual(json.loads(out)["dt"], 1.25e-5, delta=1e-7)
        out, _ = self.firn("bench", "--particles", 4096, "--json", "--steps", 1, "--repeats", 1, "--kernel", "quadratic",
                           "--transfer", "apic", "--set", "snow.block.sampling.particles_per_cell=27")
        self.assertAlmostEqual(json.loads(out)["particles_per_cell"], 27, delta=5)
        self.firn("bench", "--set", "simulation.colour=red", code=65)

    def test_limits(self):
        limits = json.loads(self.firn("bench", "--limits", "--json", "--threads", 2)[0])
        self.assertEqual(limits["threads"], 2)
        self.assertGreater(limits["flops"], 1e9)
        self.assertGreater(limits["copy_bytes"], 1e8)
        self.assertIn("GFLOP/s", self.firn("bench", "--limits", "--threads", 1)[0])


class Pages(Case):
    def test_schema(self):
        schema = json.loads(self.firn("schema")[0])
        self.assertIn("simulation", json.dumps(schema))

    def test_reference(self):
        out, _ = self.firn("reference")
        self.assertIn("cell_size", out)


if __name__ == "__main__":
    main()
