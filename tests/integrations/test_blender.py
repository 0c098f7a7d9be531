"""Blender: our volumes and PLY files as it reads them, and the snow it renders."""

import json
import os
import shutil
import sys

import numpy
from harness import INTEGRATIONS, Case, main, picture

import firn

SCRIPT = os.path.join(INTEGRATIONS, "blender", "import_firn.py")
INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside_blender.py")

if not shutil.which("blender") or "vdb" not in firn.formats or "OpenVDB: none" in firn.features:
    print("left out: no Blender, or a build that writes no volumes")
    sys.exit(77)


class Blender(Case):
    formats = ["vtkhdf", "ply", "vdb"]

    def blender(self, script, *words, code=0):
        return self.command("blender", "-b", "--python-exit-code", 3, "-P", script, "--", *words, code=code)

    def frame(self, number):
        return firn.read_frame(self.path("run", f"frame_{number:04}.hdf"))

    def test_what_blender_sees(self):
        """The importer, called as Blender's menu calls it."""
        self.blender(INSIDE, SCRIPT, self.run_folder, self.path("seen.json"))
        with open(self.path("seen.json"), encoding="utf-8") as file:
            seen = json.load(file)
        self.assertEqual(seen["grids"], {"density": "FLOAT", "velocity": "VECTOR_FLOAT"})
        self.assertEqual(seen["fps"], 120)
        self.assertEqual(seen["frames"], [0, 2])
        self.assertLessEqual({"VOLUME", "MESH", "LIGHT", "CAMERA"}, set(seen["objects"]))

        shader = seen["shader"]
        self.assertAlmostEqual(shader["scale"] * 400, 724, delta=1e-3)
        self.assertAlmostEqual(shader["anisotropy"], 0.5)
        self.assertTrue(numpy.allclose(shader["colour"], [0.9, 0.95, 1.0]))
        self.assertEqual(shader["attribute"], "density")

        # Half a voxel back along each axis of the file: Cycles shows values that much farther on.
        self.assertTrue(numpy.allclose(seen["place"], [-0.01, 0.01, -0.01], atol=1e-6), seen["place"])

        # Of each frame of the timeline the box holds all particles, within a leaf of 8 voxels and the
        # kernel's reach of 2; Blender's z is our y, its y our -z.
        for number in range(3):
            low, high = numpy.array(seen["boxes"][number])
            x = self.frame(number).position[:, [0, 2, 1]] * [1, -1, 1]
            slack = 10 * 0.02
            self.assertTrue((low <= x.min(axis=0)).all() and (high >= x.max(axis=0)).all(), number)
            self.assertTrue((x.min(axis=0) - low < slack).all() and (high - x.max(axis=0) < slack).all(), number)

        ply = numpy.array(seen["ply"])
        self.assertEqual(ply.shape, (self.frame(2).count, 3))
        self.assertTrue((ply.astype(numpy.float32) == self.frame(2).position).all())

    def test_a_stranger_takes_it_for_snow(self):
        self.blender(SCRIPT, self.run_folder, "--frame", 2, "-o", "snow.png", "--size", "96x72", "--samples", 12,
                     "--fit", "frame", "--threads", 2)
        pixels = picture(self.path("snow.png"))
        self.assertEqual(pixels.shape, (72, 96, 3))
        middle = pixels[26:46, 38:58].reshape(-1, 3).mean(axis=0)
        ground = pixels[-8:, :12].reshape(-1, 3).mean(axis=0)
        self.assertGreater(middle.min(), 0.55, "snow is bright")
        self.assertLess(middle.max() - middle.min(), 0.15, "and nearly white")
        self.assertGreater(middle.mean() - ground.mean(), 0.2, "brighter than the ground")

    def test_one_frame_of_a_run_with_gaps(self):
        shutil.copytree(self.run_folder, self.path("gaps"))
        os.remove(self.path("gaps", "frame_0001.vdb"))
        self.blender(SCRIPT, "gaps", "--frame", 2, "--save", "gaps.blend", "-o", "gaps.png", "--size", "32x24",
                     "--samples", 2)
        self.assertGreater(os.path.getsize(self.path("gaps.blend")), 10_000)
        self.assertGreater(picture(self.path("gaps.png"))[8:16, 10:22].max(), 0.4)

    def test_errors_say_what_to_do(self):
        os.makedirs(self.path("empty"), exist_ok=True)
        self.assertIn("firn convert", self.blender(SCRIPT, "empty", "-o", "x.png", code=1))
        self.assertIn("no such folder", self.blender(SCRIPT, "nowhere", "-o", "x.png", code=1))
        self.assertIn("there is no frame 9", self.blender(SCRIPT, self.run_folder, "--frame", 9, "-o", "x.png", code=1))


if __name__ == "__main__":
    main()
