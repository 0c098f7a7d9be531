"""Shared by the tests of the program: running it, small scenes, and comparing what it wrote.

Each test file is run as `python3 FILE.py path/to/firn`. Scenes are tiny, so that the reference solver
does a whole run in about a second.
"""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy

FIRN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "firn"

# A block of snow that meets the ground after the first frame.
BLOCK = """\
name: block
simulation:
  dimensions: 2
  frames: 5
  fps: 240
  cell_size: 0.02
  gravity: [0, -9.81]
materials:
  packed: {preset: snow}
snow:
  - name: block
    shape: {box: {center: [0, 0.135], size: [0.16, 0.24]}}
    material: packed
    sampling: {particles_per_cell: 4, method: poisson, seed: 3}
    velocity: [0.5, -4]
colliders:
  - name: ground
    shape: {plane: {point: [0, 0], normal: [0, 1]}}
    friction: 0.4
"""

# The same in free flight: its momentum is known.
FLIGHT = BLOCK[: BLOCK.index("colliders:")]

# The same for a second or so, to be stopped in the middle.
LONG = BLOCK.replace("cell_size: 0.02", "cell_size: 0.01")

# In space, as every solver can do it.
SPACE = """\
simulation: {dimensions: 3, frames: 2, fps: 240, cell_size: 0.02}
snow:
  - {name: ball, shape: {sphere: {center: [0, 0.07, 0], radius: 0.06}}, velocity: [1, -5, 0]}
colliders:
  - {name: ground, shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.4}
"""


class Case(unittest.TestCase):
    """A test in a folder of its own, removed afterwards."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="firn_cli_")
        self.addCleanup(shutil.rmtree, self.home)
        self.scene = self.write("block.yaml", BLOCK)

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def start(self, *arguments, **options):
        """The program running in the test's folder; the caller waits for it. Runs are on the
        reference solver unless they say otherwise."""
        if arguments[:1] == ("run",) and "--backend" not in arguments:
            arguments = ("run", "--backend", "ref", *arguments[1:])
        process = subprocess.Popen(
            [FIRN, *map(str, arguments)],
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,
        )
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def firn(self, *arguments, code=0, **options):
        """Run to the end, expecting an exit code. Returns stdout and stderr."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, code, f"firn {arguments}\n{out}\n{err}")
        return out, err

    def wait_for(self, path, process):
        deadline = time.time() + 60
        while not os.path.exists(path):
            self.assertIsNone(process.poll(), f"ended before {path} was there")
            self.assertLess(time.time(), deadline, f"{path} did not come")
            time.sleep(0.001)

    def assert_same_state(self, one, other):
        a, b = state(one), state(other)
        self.assertEqual(a.keys(), b.keys())
        for name in a:
            self.assertEqual(a[name], b[name], f"{name} of {one} and {other}")

    def assert_same_run(self, one, other, last_frame):
        """The same final state, frames and log (but for its timings)."""
        self.assert_same_state(f"{one}/checkpoint.h5", f"{other}/checkpoint.h5")
        for frame in range(last_frame + 1):
            name = f"frame_{frame:04}.hdf"
            self.assert_same_state(f"{one}/{name}", f"{other}/{name}")
        self.assertEqual(log(one), log(other))
        self.assertEqual([entry["frame"] for entry in log(one)], list(range(last_frame + 1)))


def state(path):
    """Everything in an HDF5 file, as bytes by name."""
    found = {}

    def visit(name, thing):
        for key, value in thing.attrs.items():
            found[f"{name}@{key}"] = (str(numpy.asarray(value).dtype), numpy.asarray(value).tobytes())
        if isinstance(thing, h5py.Dataset):
            found[name] = (str(thing.dtype), thing.shape, thing[()].tobytes())

    with h5py.File(path, "r") as file:
        visit("/", file)
        file.visititems(visit)
    return found


def particles(path, name):
    with h5py.File(path, "r") as file:
        return file["particles"][name][()]


def attribute(path, name):
    with h5py.File(path, "r") as file:
        return file.attrs[name]


def log(folder):
    """The objects of a run's log without what depends on the clock."""
    path = folder if os.path.isfile(folder) else f"{folder}/log.jsonl"
    with open(path, encoding="utf-8") as file:
        entries = [json.loads(line) for line in file]
    for entry in entries:
        del entry["ms"], entry["seconds"]
    return entries


def frames(folder):
    return sorted(os.path.basename(path) for path in glob.glob(f"{folder}/frame_*"))


def leftovers(folder):
    known = re.compile(
        r"frame_\d{4}\.(hdf|ply|vdb|bgeo|obj|usda|npz)|frames\.(hdf\.series|usda)|"
        r"checkpoint(_previous)?\.h5|(checkpoint|log)\.jsonl|scene\.txt|picture_\d{4}\.png"
    )
    return [name for name in os.listdir(folder) if not known.fullmatch(name)]


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
