"""Shared by the tests of exported files: checkpoints made by other hands, and running the program.

Each test file is run as `/usr/bin/python3 FILE.py path/to/firn`: Debian's interpreter, which sees
Debian's OpenVDB and VTK. A test is skipped when its reader is not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy

FIRN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "firn"


def snow(count, dimensions=3, seed=1, centre=0.0, radius=1.0):
    """Particles with every attribute a full-mantissa number of its natural size."""
    r = numpy.random.default_rng(seed)
    d = dimensions
    ones = numpy.eye(d)[None, :, :]
    return {
        "id": numpy.arange(count, dtype=numpy.uint64) * 3 + 1,
        "object": (numpy.arange(count) % 3).astype(numpy.uint32),
        "position": centre + radius * r.uniform(-1, 1, (count, d)),
        "velocity": r.normal(0, 3, (count, d)).astype(numpy.float32),
        "mass": (1e-4 * r.uniform(0.5, 1.5, count)).astype(numpy.float32),
        "volume": (1e-6 * r.uniform(0.5, 1.5, count)).astype(numpy.float32),
        "F_E": (ones + 0.02 * r.normal(size=(count, d, d))).astype(numpy.float32),
        "J_P": r.uniform(0.8, 1.1, count).astype(numpy.float32),
        "mu0": (5e4 * r.uniform(0.9, 1.1, count)).astype(numpy.float32),
        "lambda0": (4e4 * r.uniform(0.9, 1.1, count)).astype(numpy.float32),
        "hardening": r.uniform(5, 15, count).astype(numpy.float32),
        "theta_c": numpy.full(count, 0.025, numpy.float32),
        "theta_s": numpy.full(count, 0.0075, numpy.float32),
    }


class Case(unittest.TestCase):
    """A test in a folder of its own, removed afterwards."""

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="firn_export_")
        self.addCleanup(shutil.rmtree, self.home)

    def path(self, *parts):
        return os.path.join(self.home, *parts)

    def checkpoint(self, particles, name="state.h5", cell_size=0.1, kernel="cubic", frame=7, time=0.25):
        """A checkpoint as its contract says, written by h5py."""
        with h5py.File(self.path(name), "w") as file:
            dimensions = particles["position"].shape[1]
            for key, value in dict(
                firn_version="0.1.0", time=time, step=123, frame=frame, cell_size=cell_size,
                dimensions=dimensions, kernel=kernel, transfer="flip",
            ).items():
                file.attrs[key] = numpy.bytes_(value) if isinstance(value, str) else value
            group = file.create_group("particles")
            for key, value in particles.items():
                group[key] = value
        return self.path(name)

    def firn(self, *arguments, code=0, **options):
        """Run to the end, expecting an exit code. Returns stdout and stderr."""
        done = subprocess.run(
            [FIRN, *map(str, arguments)], cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False, **options,
        )
        self.assertEqual(done.returncode, code, f"firn {arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout, done.stderr

    def convert(self, source, *arguments, **options):
        self.firn("convert", source, *arguments, **options)


def main():
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
