"""`firn wedge` and `firn measure`: studies in parallel, continued, as a table, a sheet and a script."""

import csv
import json
import os
import signal
import struct
import subprocess

from harness import BLOCK, LONG, Case, main, particles

VARY = ["--vary", "snow.block.velocity=[0, -4],[0, -6]", "--vary", "materials.packed.hardening=5,10"]
REF = ["--backend", "ref"]


class Wedge(Case):
    def table(self, folder):
        with open(self.path(folder, "wedge.csv"), encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_every_combination(self):
        out, err = self.firn("wedge", self.scene, *VARY, *REF, "-o", "w")
        rows = self.table("w")
        self.assertEqual([row["materials.packed.hardening"] for row in rows], ["5", "10", "5", "10"])
        self.assertEqual([row["snow.block.velocity"] for row in rows], ["[0, -4]"] * 2 + ["[0, -6]"] * 2)
        self.assertTrue(all(row["exit_code"] == "0" and row["frame"] == "5" for row in rows))
        self.assertEqual(len(out.splitlines()), 5)
        self.assertIn("4 cases, 4 to run", err)
        with open(self.path("w", "wedge.png"), "rb") as file:
            width, height = struct.unpack(">II", file.read()[16:24])
        self.assertGreater(width * height, 4 * 480 * 360)
        # A case is the run that its values say.
        self.firn("run", self.scene, "--set", "snow.block.velocity=[0, -6]", "--set", "materials.packed.hardening=5", "-o", "one")
        self.assert_same_run(self.path("one"), self.path("w", "case_002"), 5)
        measured, _ = self.firn("measure", "one/frame_0005.hdf", "--json")
        self.assertAlmostEqual(json.loads(measured)["spread"], float(rows[2]["spread"]), places=7)

    def test_list(self):
        self.firn("wedge", self.scene, "--list", *VARY, "--vary", "simulation.fps=120", *REF, "-o", "w", "--frames", 1)
        rows = self.table("w")
        self.assertEqual([row["materials.packed.hardening"] for row in rows], ["5", "10"])
        self.assertEqual([row["time"] for row in rows], ["0.00833333333"] * 2)
        _, err = self.firn("wedge", self.scene, "--list", *VARY, "--vary", "simulation.fps=1,2,3", code=2)
        self.assertIn("simulation.fps has 3, not 2", err)

    def test_finished_cases_are_not_repeated(self):
        self.firn("wedge", self.scene, *VARY, *REF, "-o", "w")
        times = [os.stat(self.path("w", f"case_00{k}", "checkpoint.h5")).st_mtime_ns for k in range(4)]
        _, err = self.firn("wedge", self.scene, *VARY, *REF, "-o", "w")
        self.assertIn("4 cases, 0 to run", err)
        self.assertEqual(times, [os.stat(self.path("w", f"case_00{k}", "checkpoint.h5")).st_mtime_ns for k in range(4)])
        _, err = self.firn("wedge", self.scene, *VARY, *REF, "-o", "w", "--frames", 6)
        self.assertIn("4 to run", err)
        self.assertEqual([row["frame"] for row in self.table("w")], ["6"] * 4)

    def test_stopped_and_continued(self):
        scene = self.write("long.yaml", LONG)
        words = ["wedge", scene, *VARY, *REF, "-o", "w", "--jobs", 2, "--threads", 1]
        process = self.start(*words)
        self.wait_for(self.path("w", "case_000", "frame_0001.hdf"), process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)
        self.assertFalse(os.path.exists(self.path("w", "wedge.csv")))
        self.firn(*words)
        self.firn("run", scene, "--set", "snow.block.velocity=[0, -4]", "--set", "materials.packed.hardening=5", "-o", "one")
        self.assert_same_run(self.path("one"), self.path("w", "case_000"), 5)

    def test_a_case_that_fails_leaves_the_others(self):
        blows = ["--vary", "simulation.time_step=auto,0.004", "--set", "simulation.retries=0"]
        _, err = self.firn("wedge", self.scene, *blows, *REF, "-o", "w", code=70)
        self.assertIn("case_001 ended with exit code 70", err)
        self.assertEqual([row["exit_code"] for row in self.table("w")], ["0", "70"])

    def test_mistakes(self):
        for words, message in [
            ([], "missing option: --vary"),
            (["--vary", "simulation.fps"], "write key.path=value,value"),
            (["--vary", "simulation.fps=1,,2"], "value 2 is empty"),
        ]:
            _, err = self.firn("wedge", self.scene, *words, code=2)
            self.assertIn(message, err)
        _, err = self.firn("wedge", self.scene, "--vary", "simulation.fsp=1,2", code=65)
        self.assertIn("did you mean 'fps'?", err)
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_slurm_script(self):
        _, err = self.firn("wedge", self.scene, *VARY, *REF, "-o", "w", "--frames", 1, "--slurm", "job.sh")
        self.assertIn("sbatch job.sh", err)
        with open(self.path("job.sh"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("#SBATCH --array=0-3\n", text)
        for task, code in (("3", 0), ("4", 2)):
            done = subprocess.run(["bash", self.path("job.sh")], env={**os.environ, "SLURM_ARRAY_TASK_ID": task}, capture_output=True, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
        velocity = particles(self.path("w", "case_003", "checkpoint.h5"), "velocity")
        self.assertLess(velocity[:, 1].min(), -5.9)
        _, err = self.firn("wedge", self.scene, *VARY, *REF, "-o", "w", "--frames", 1)
        self.assertIn("3 to run", err)


class Measure(Case):
    def test_a_run_and_a_frame(self):
        self.write("two.yaml", BLOCK + "  - {name: roof, shape: {plane: {point: [0, 9], normal: [0, -1]}}}\n")
        self.firn("run", "two.yaml", "-o", "r", "--frames", 2)
        out, _ = self.firn("measure", "r")
        self.assertEqual(len(out.splitlines()), 4)
        out, _ = self.firn("measure", "r", "--csv", "--every", 2)
        rows = list(csv.DictReader(out.splitlines()))
        self.assertEqual([row["frame"] for row in rows], ["0", "2"])
        self.assertLess(float(rows[1]["center_y"]), float(rows[0]["center_y"]))
        self.assertEqual(float(rows[1]["touching roof"]), 0)
        out, _ = self.firn("measure", "r/frame_0002.hdf")
        self.assertIn("pieces          1:", out)
        self.assertIn("ground          touched by", out)

    def test_a_scene_and_a_box(self):
        out, _ = self.firn("measure", self.scene, "--json", "--box", "-1,0,-1,1,0.135,1")
        half = json.loads(out)
        out, _ = self.firn("measure", self.scene, "--json")
        whole = json.loads(out)
        self.assertAlmostEqual(half["mass"] / whole["mass"], 0.5, delta=0.03)
        self.assertLessEqual(half["high_y"], 0.135)
        self.assertAlmostEqual(whole["mass"], 400 * 0.16 * 0.24, delta=0.2)
        _, err = self.firn("measure", self.scene, "--box", "1,2", code=2)
        self.assertIn("--box takes two corners", err)


if __name__ == "__main__":
    main()
