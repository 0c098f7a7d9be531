"""Shared by the tests of the Python module: `python3 FILE.py path/to/firn`, with PYTHONPATH on the
module and FIRN_LIBRARY on the library."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

FIRN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "firn"

# A block that meets the ground after the first frame, as a scene that is a mapping.
BLOCK = {
    "name": "block",
    "simulation": {"dimensions": 2, "frames": 4, "fps": 240, "cell_size": 0.02, "gravity": [0, -9.81]},
    "materials": {"packed": {"preset": "snow"}},
    "snow": [
        {
            "name": "block",
            "shape": {"box": {"center": [0, 0.135], "size": [0.16, 0.24]}},
            "material": "packed",
            "sampling": {"particles_per_cell": 4, "method": "poisson", "seed": 3},
            "velocity": [0.5, -4],
        }
    ],
    "colliders": [{"name": "ground", "shape": {"plane": {"point": [0, 0], "normal": [0, 1]}}, "friction": 0.4}],
}

# In space.
BALL = {
    "simulation": {"frames": 2, "fps": 240, "cell_size": 0.02},
    "snow": [
        {"name": "ball", "shape": {"sphere": {"center": [0, 0.07, 0], "radius": 0.06}}, "velocity": [1, -5, 0]}
    ],
    "colliders": [{"name": "ground", "shape": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}}],
}


class Case(unittest.TestCase):
    """A test in a folder of its own, removed afterwards."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="firn_python_")
        self.addCleanup(shutil.rmtree, self.home)

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def program(self, *arguments):
        done = subprocess.run([FIRN, *map(str, arguments)], cwd=self.home, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def python(self, script, code=0, **environment):
        """Another interpreter, for what an interpreter can do only once."""
        done = subprocess.run(
            [sys.executable, "-B", "-c", script],
            cwd=self.home,
            capture_output=True,
            text=True,
            env={**os.environ, **environment},
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
