"""The scenes that ship: all are valid, and in some of them, coarse, what must happen does.

Run as `python3 outcomes.py path/to/firn`. Numbers are far from what was seen, so that another processor's
rounding does not matter.
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy

FIRN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "firn"
SCENES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenes")


def firn(*words):
    done = subprocess.run([FIRN, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"firn {words} ended with {done.returncode}\n{done.stderr}")
    return done.stdout


def frame(path):
    """Positions and attributes of a frame, in the order of ids."""
    with h5py.File(path, "r") as file:
        group = file["VTKHDF"]
        order = numpy.argsort(group["PointData"]["id"][()])
        values = {name: group["PointData"][name][()][order] for name in group["PointData"]}
        return group["Points"][()][order], values


class Checks(unittest.TestCase):
    def test_every_scene_is_valid(self):
        paths = sorted(glob.glob(f"{SCENES}/*.yaml"))
        self.assertGreater(len(paths), 15)
        for path in paths:
            with self.subTest(scene=os.path.basename(path)):
                seen = json.loads(firn("check", path, "--json", "--set", "simulation.resolution=0.1"))
                self.assertGreater(seen["particles"], 0)


class Outcomes(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="firn_scenes_")
        self.addCleanup(shutil.rmtree, self.home)

    def run_scene(self, name, resolution, frames, *sets):
        folder = os.path.join(self.home, name)
        firn("run", f"{SCENES}/{name}.yaml", "--set", f"simulation.resolution={resolution}", *sets, "--frames", frames, "-o", folder, "-q")
        last = os.path.join(folder, f"frame_{frames:04}.hdf")
        measured = json.loads(firn("measure", last, "--json", "-q"))
        with h5py.File(os.path.join(folder, "checkpoint.h5"), "r") as file:
            cell = file.attrs["cell_size"]
        for collider in measured["colliders"]:
            self.assertLess(collider["deepest"], cell, f"snow inside of {collider['name']}")
        return folder, measured

    def test_a_dropped_ball_breaks(self):
        folder, measured = self.run_scene("ball_drop", 0.4, 5)
        pieces = [json.loads(line)["pieces"] for line in firn("measure", folder, "--json", "-q").splitlines()]
        self.assertEqual(pieces[0], 1)
        self.assertGreaterEqual(max(pieces), 2)
        self.assertGreater(measured["torn"], 0.3)

    def test_a_sticky_wall_holds_more(self):
        touching = []
        for name in ("ball_smash", "ball_smash_sticky"):
            _, measured = self.run_scene(name, 0.25, 6)
            touching.append(measured["colliders"][0]["touching"])
        self.assertGreater(touching[1], touching[0] + 0.01)

    def test_a_plow_pushes_forward_and_aside(self):
        folder, _ = self.run_scene("snowplow", 0.16, 12)
        before, _ = frame(f"{folder}/frame_0000.hdf")
        after, _ = frame(f"{folder}/frame_0012.hdf")
        way = after - before
        moved = numpy.linalg.norm(way, axis=1) > 0.5
        self.assertGreater(moved.mean(), 0.02)
        self.assertGreater(way[moved, 0].mean(), 0.3)
        self.assertGreater(abs(way[moved, 2].mean()), 0.1)

    def test_a_footprint_is_packed(self):
        folder, _ = self.run_scene("footprints", 0.2, 10)
        x, values = frame(f"{folder}/frame_0010.hdf")
        def below(at):
            return (abs(x[:, 0] - at) < 0.1) & (abs(x[:, 2] + 0.11) < 0.04) & (x[:, 1] < 0.08)
        sole, field = below(-0.75), below(0.6)
        self.assertLess(values["J_P"][sole].mean(), 0.95)
        self.assertGreater(values["density"][sole].mean(), 1.08 * values["density"][field].mean())

    def test_a_rolling_ball_gains_snow(self):
        """As a slice: snow of the layer that has left the slope and is carried around the ball."""
        folder, _ = self.run_scene("rolling_snowball", 0.4, 16, "--set", "simulation.dimensions=2")
        normal = numpy.array([0.5299, 0.8480, 0])
        gained = []
        for number in (0, 16):
            x, values = frame(f"{folder}/frame_{number:04}.hdf")
            ball = values["object"] == 1
            near = numpy.linalg.norm(x - x[ball].mean(axis=0), axis=1) < 0.45
            carried = (values["object"] == 0) & near & (x @ normal > 0.18)
            gained.append(values["mass"][carried].sum() / values["mass"][ball].sum())
        self.assertEqual(gained[0], 0)
        self.assertGreater(gained[1], 0.01)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
