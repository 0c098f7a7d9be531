"""Every scene that ships, coarse, on `cpu` and on `cuda`: the same particles, the same steps, the same places.

Run as `python3 backends.py path/to/firn path/to/firn_emulated`: the second runs what is on `cuda`.
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy

PROGRAMS = {"cpu": os.path.abspath(sys.argv[1]), "cuda": os.path.abspath(sys.argv[2])}
SCENES = sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes", "*.yaml")))

# Seen: 6e-6 of a cell in the middle, 2.5e-4 at most, among letters that have hit the ground. Where rounding decides between
# two lengths of a step, which are a 32nd apart, it is 4e-4 and 5e-4.
FARTHEST, MIDDLE = 2e-2, 2e-3


class Backends(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="firn_backends_")
        self.addCleanup(shutil.rmtree, self.home)

    def run_on(self, backend, scene, words):
        """What is left of a run after two frames."""
        folder = os.path.join(self.home, backend)
        command = [PROGRAMS[backend], "run", scene, "--backend", backend, "-o", folder, "--resume", "never", "--quiet",
                   "--threads", "1", "--frames", "2", "--set", "output.every=1000", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")
        with h5py.File(os.path.join(folder, "checkpoint.h5"), "r") as file:
            values = {name: file["particles"][name][()] for name in ("id", "position", "J_P")}
            return values | {name: file.attrs[name] for name in ("step", "time", "cell_size")}

    def compare(self, scene, *words):
        with self.subTest(scene=os.path.basename(scene), words=words):
            cpu, cuda = (self.run_on(backend, scene, words) for backend in PROGRAMS)
            for name in "id", "step", "time":
                numpy.testing.assert_array_equal(cuda[name], cpu[name], err_msg=name)
            away = numpy.abs(cuda["position"] - cpu["position"]).max(axis=1) / cpu["cell_size"]
            self.assertLess(away.max(), FARTHEST)
            self.assertLess(numpy.median(away), MIDDLE)
            numpy.testing.assert_allclose(numpy.median(cuda["J_P"]), numpy.median(cpu["J_P"]), rtol=1e-4)

    def test_as_they_are(self):
        """But for two that take their time to fill letters, as letters.yaml does."""
        quick = [scene for scene in SCENES if os.path.basename(scene) not in ("siggraph.yaml", "the_end.yaml")]
        self.assertGreater(len(quick), 20)
        for scene in quick:
            self.compare(scene, "--set", "simulation.resolution=0.12")

    def test_by_other_methods(self):
        """Each scene by one of these, in turn."""
        methods = [("quadratic", "{type: apic}"), ("quadratic", "{type: mls}"), ("cubic", "{type: apic}"),
                   ("cubic", "{type: mls}"), ("quadratic", "{type: flip, blend: 0.95}")]
        for number, scene in enumerate(SCENES):
            kernel, transfer = methods[number % len(methods)]
            self.compare(scene, "--set", "simulation.resolution=0.12", "--set", f"simulation.kernel={kernel}",
                         "--set", f"simulation.transfer={transfer}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
