"""Volumes and particles as Blender sees them, without a window."""

import json
import os
import shutil
import subprocess
import sys
import unittest

import numpy

from harness import Case, main, snow

# Run inside Blender: imports files and prints what it made of them.
INSIDE = """
import bpy, json, sys
vdb, ply = sys.argv[sys.argv.index("--") + 1:]
bpy.ops.object.volume_import(filepath=vdb)
volume = bpy.context.object
volume.data.grids.load()
grids = {g.name: {"type": g.data_type, "matrix": [list(row) for row in g.matrix_object]}
         for g in volume.data.grids}
box = [list(corner) for corner in volume.bound_box]
bpy.ops.import_mesh.ply(filepath=ply)
mesh = bpy.context.object.data
points = [0.0] * 3 * len(mesh.vertices)
mesh.vertices.foreach_get("co", points)
with open(vdb + ".json", "w") as out:
    json.dump({"error": volume.data.grids.error_message, "grids": grids, "box": box, "points": points}, out)
"""


@unittest.skipUnless(shutil.which("blender"), "blender is not installed")
class Blender(Case):
    def test_import(self):
        particles = snow(2000, centre=numpy.array([2.0, -1.0, 0.5]))
        self.convert(self.checkpoint(particles), "--to", "vdb,ply")
        with open(self.path("inside.py"), "w", encoding="ascii") as file:
            file.write(INSIDE)
        environment = dict(os.environ, HOME=self.home)
        done = subprocess.run(
            ["blender", "--background", "--factory-startup", "--python", self.path("inside.py"),
             "--python-exit-code", "3", "--", self.path("state.vdb"), self.path("state.ply")],
            capture_output=True, text=True, timeout=300, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.path("state.vdb.json"), encoding="ascii") as file:
            found = json.load(file)
        self.assertEqual(found["error"], "")
        self.assertEqual({name: grid["type"] for name, grid in found["grids"].items()},
                         {"density": "FLOAT", "velocity": "VECTOR_FLOAT"})
        scale = numpy.array(found["grids"]["density"]["matrix"])
        numpy.testing.assert_allclose(scale, numpy.diag([0.1, 0.1, 0.1, 1]), atol=1e-6)
        # Blender's box is that of the leaves, of 8 voxels a side, that hold nodes which particles reach.
        corner = numpy.floor(particles["position"] / 0.1)
        low = 0.1 * 8 * numpy.floor((corner.min(axis=0) - 1) / 8)
        high = 0.1 * (8 * numpy.floor((corner.max(axis=0) + 2) / 8) + 7)
        box = numpy.array(found["box"])
        numpy.testing.assert_allclose(box.min(axis=0), low, atol=1e-5)
        numpy.testing.assert_allclose(box.max(axis=0), high, atol=1e-5)
        points = numpy.array(found["points"]).reshape(-1, 3)
        numpy.testing.assert_allclose(points, particles["position"], atol=1e-6)


if __name__ == "__main__":
    if not shutil.which("blender"):
        print("blender is not installed")
        sys.exit(77)
    main()
