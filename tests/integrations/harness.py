"""Shared by the tests with other programs: a small run, and pictures as arrays."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

FIRN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "firn"
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INTEGRATIONS = os.path.join(SOURCE, "integrations")

# A snowball on its way to the ground.
BALL = {
    "name": "ball",
    "simulation": {"frames": 2, "fps": 120, "cell_size": 0.02},
    "snow": [{"name": "ball", "shape": {"sphere": {"center": [0, 0.16, 0.1], "radius": 0.08}}, "velocity": [1, -3, 0]}],
    "colliders": [{"name": "ground", "shape": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}}],
}


class Case(unittest.TestCase):
    """Tests that share one run folder."""

    formats = ["vtkhdf"]

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="firn_integration_")
        cls.addClassCleanup(shutil.rmtree, cls.home)
        with open(cls.path("ball.yaml"), "w", encoding="utf-8") as file:
            json.dump(BALL | {"output": {"formats": cls.formats}}, file)
        cls.run_folder = cls.path("run")
        cls.command(FIRN, "run", cls.path("ball.yaml"), "-o", cls.run_folder, "-q")

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.home, *parts)

    @classmethod
    def command(cls, *words, code=0, **environment):
        done = subprocess.run(
            list(map(str, words)), cwd=cls.home, capture_output=True, text=True, env={**os.environ, **environment}
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr


def picture(path):
    """A PNG as numbers from 0 to 1, height x width x 3."""
    from matplotlib.image import imread

    return numpy.asarray(imread(path), float)[..., :3]


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
