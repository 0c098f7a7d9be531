"""The same VDB file, camera and light in Blender's Cycles and in `firn render`: the same radiance.

With FIRN_KEEP=FILE.png the two pictures are left there side by side, ours to the left; FIRN_SAMPLES are those
of Cycles, for a better one.
"""

import json
import os
import shutil
import subprocess
import sys

import numpy
from harness import FIRN, Case, main

import firn

INSIDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inside_cycles.py")

if not shutil.which("blender") or not shutil.which("ffmpeg") or "OpenVDB: none" in firn.features:
    print("left out: no Blender or ffmpeg, or a build that writes no volumes")
    sys.exit(77)

SAMPLES = int(os.environ.get("FIRN_SAMPLES", "8"))
WIDTH, HEIGHT = 160, 120
CELL = 0.008
VOLUME = "snow/frame_0002.vdb"
SCENE = {
    "name": "ball",
    "simulation": {"frames": 2, "fps": 240, "cell_size": CELL},
    "snow": [{"shape": {"sphere": {"center": [0, 0.07, 0], "radius": 0.05}}, "velocity": [0, -6, 0]}],
    "colliders": [
        {"shape": {"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}, "surface": {"colour": [0.4, 0.35, 0.3]}}
    ],
    "camera": {"position": [0.05, 0.16, 0.42], "target": [0.01, 0.045, 0], "field_of_view": 24},
    "render": {
        "width": WIDTH,
        "height": HEIGHT,
        "samples": 8 * SAMPLES,
        "precision": "float",
        "snow": {"albedo": [0.996, 0.9975, 0.9995]},
        "lights": [{"type": "environment", "file": "surround.exr", "azimuth": -90}],
    },
    "output": {"formats": ["vdb"], "grid_type": "float"},
}
# Boxes of pixels: left, top, right, bottom.
REGIONS = {
    "snow in the sun": (50, 40, 70, 65),
    "snow in its own shade": (92, 50, 108, 80),
    "ground in the sun": (10, 95, 40, 115),
    "ground in the shadow": (122, 70, 140, 80),
}


def write_surround(path):
    """Blue from above, grey from below, and a sun 4 degrees wide, 35 above the horizon, to the left."""
    height, width = 256, 512
    v, u = numpy.mgrid[0:height, 0:width] + 0.5
    elevation, azimuth = numpy.pi * (0.5 - v / height), 2 * numpy.pi * (u / width - 0.5)
    # The middle is towards +x; to the right of it is +z.
    x, y, z = numpy.cos(elevation) * numpy.cos(azimuth), numpy.sin(elevation), numpy.cos(elevation) * numpy.sin(azimuth)
    light = numpy.where((y > 0)[..., None], [0.15, 0.25, 0.5], [0.1, 0.1, 0.1]) * (1 + 0.5 * x)[..., None]
    sun = numpy.array([-0.7, 0.57, 0.43])
    near = x * sun[0] + y * sun[1] + z * sun[2] > numpy.cos(numpy.radians(2)) * numpy.linalg.norm(sun)
    light[near] += [700, 640, 560]
    planes = light.astype(numpy.float32)[..., [1, 2, 0]].transpose(2, 0, 1)  # gbr
    subprocess.run(["ffmpeg", "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-s",
                    f"{width}x{height}", "-i", "-", "-frames:v", "1", path], input=planes.tobytes(), check=True)


def read_light(path):
    """Linear light of an EXR file, height x width x 3, by ffmpeg's decoder."""
    out = subprocess.run(["ffmpeg", "-loglevel", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "gbrpf32le", "-"],
                         capture_output=True, check=True).stdout
    return numpy.frombuffer(out, numpy.float32).reshape(3, HEIGHT, WIDTH)[[2, 0, 1]].transpose(1, 2, 0)


def keep(path, ours, theirs):
    from matplotlib.image import imsave

    both = numpy.concatenate([ours, numpy.ones((HEIGHT, 4, 3)), theirs], axis=1)
    imsave(path, numpy.kron(numpy.clip(0.8 * both, 0, 1) ** (1 / 2.2), numpy.ones((3, 3, 1))))


class Cycles(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        write_surround(cls.path("surround.exr"))
        with open(cls.path("scene.yaml"), "w", encoding="utf-8") as file:
            json.dump(SCENE, file)
        cls.command(FIRN, "run", "scene.yaml", "-o", "snow", "-q")

    def ours(self):
        self.command(FIRN, "render", VOLUME, "-o", "ours.exr", "-q")
        return read_light(self.path("ours.exr"))

    def theirs(self):
        camera, look = SCENE["camera"], SCENE["render"]["snow"]
        told = {
            **camera, "albedo": look["albedo"], "extinction": 724, "reference_density": 400, "mean_cosine": 0.5,
            "ground": SCENE["colliders"][0]["surface"]["colour"], "environment": self.path("surround.exr"),
            "size": [WIDTH, HEIGHT], "samples": SAMPLES, "threads": 2, "voxel": CELL, "step": CELL / 20,
        }
        with open(self.path("told.json"), "w", encoding="utf-8") as file:
            json.dump(told, file)
        self.command("blender", "-b", "--python-exit-code", 3, "-P", INSIDE, "--", "told.json",
                     self.path(VOLUME), self.path("theirs.exr"))
        return read_light(self.path("theirs.exr"))

    def test_radiance(self):
        ours, theirs = self.ours(), self.theirs()
        if "FIRN_KEEP" in os.environ:
            keep(os.environ["FIRN_KEEP"], ours, theirs)
        for name, (left, top, right, bottom) in REGIONS.items():
            a, b = (x[top:bottom, left:right].mean(axis=(0, 1)) for x in (ours, theirs))
            print(f"{name}: firn {a.round(3)}, Cycles {b.round(3)}, ratio {(a / b).round(3)}")
            with self.subTest(region=name):
                self.assertLess(abs(a / b - 1).max(), 0.05)


if __name__ == "__main__":
    main()
