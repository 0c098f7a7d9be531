"""The program on a machine with a GPU, which a processor emulates (tests/cuda): what it chooses, what fits, and that runs
go from one backend to the other. Run as `python3 gpu.py path/to/firn_emulated`."""

import json
import re
import unittest

import numpy

from harness import BLOCK, SPACE, Case, main, particles

ROOMY = "backend cuda: .* which has room for the [0-9]+ particles"


class Gpu(Case):
    def setUp(self):
        super().setUp()
        self.space = self.write("space.yaml", SPACE)
        self.huge = self.write("huge.yaml", SPACE.replace("radius: 0.06", "radius: 0.25").replace("0.02}", "0.005}"))

    def test_chosen_when_there_is_room(self):
        self.assertIn("backends: cuda cpu ref", self.firn("--version")[0])
        self.assertRegex(self.firn("run", self.space, "-o", "out", "--backend", "auto", "-v", "--steps", 2)[1], ROOMY)
        words = self.firn("run", self.huge, "-o", "big", "--backend", "auto", "-v", "--steps", 1)[1]
        self.assertRegex(words, r"backend cpu: .* has 0\.268 GB free, of the [0-9.]+ GB needed")

    def test_what_fits_is_said_before_the_run(self):
        words = "".join(self.firn("check", self.huge, "--backend", "cuda"))
        found = re.search(r"at most about ([0-9]+) particles fit", words)
        self.assertIsNotNone(found, words)
        self.assertNotIn("particles fit", "".join(self.firn("check", self.space, "--backend", "cuda")))
        # As much as that does fit.
        count = int(re.search(r"particles +([0-9]+)", words)[1])
        self.assertLess(int(found[1]), count)
        scale = (0.95 * int(found[1]) / count) ** (1 / 3)
        self.firn("run", self.huge, "-o", "fits", "--backend", "cuda", "--steps", 2, "--set", f"simulation.resolution={scale}")

    def test_no_room(self):
        _, words = self.firn("run", self.huge, "-o", "out", "--backend", "cuda", "--steps", 1, code=71)
        self.assertRegex(words, r"the GPU has no room for [0-9.e+-]+ GB of .* use fewer particles or larger cells, or --backend cpu")

    def test_same_bits_in_parts(self):
        for scene in self.space, self.scene:
            for transfer in "flip", "apic", "mls":
                name = f"{scene}_{transfer}"
                how = ["--backend", "cuda", "--set", f"simulation.transfer={{type: {transfer}}}"]
                self.firn("run", scene, "-o", f"{name}_whole", *how, "--frames", 2)
                for step in 1, 10, 23:
                    self.firn("run", scene, "-o", f"{name}_parts", *how, "--steps", step)
                self.firn("run", scene, "-o", f"{name}_parts", *how, "--frames", 2)
                self.assert_same_run(f"{name}_whole", f"{name}_parts", 2)

    def test_from_backend_to_backend(self):
        """Twenty steps on cpu, twenty on cuda and twenty on cpu are sixty on ref."""
        steps = ["--set", "simulation.time_step=2e-4", "--set", "simulation.kernel=quadratic"]
        self.firn("run", self.space, "-o", "ref", "--backend", "ref", "--steps", 60, *steps)
        for count, backend in enumerate(("cpu", "cuda", "cpu"), 1):
            self.firn("run", self.space, "-o", "turns", "--backend", backend, "--steps", 20 * count, *steps,
                      "--resume", "never" if count == 1 else self.path("turns", "checkpoint.h5"))
        for name, error in ("id", 0), ("position", 1e-6), ("velocity", 1e-3), ("J_P", 1e-4):
            one, other = (particles(self.path(folder, "checkpoint.h5"), name) for folder in ("ref", "turns"))
            numpy.testing.assert_allclose(other, one, rtol=0, atol=error, err_msg=name)

    def test_bench(self):
        out, _ = self.firn("bench", "--json", "--backend", "cuda", "--particles", 512, "--steps", 4, "--repeats", 1,
                           "--kernel", "quadratic", "--transfer", "apic")
        case = json.loads(out)
        self.assertEqual(case["backend"], "cuda")
        self.assertTrue(all(case["stages"][stage] > 0 for stage in ("sort", "p2g", "grid", "g2p")), case["stages"])


if __name__ == "__main__":
    main()
