"""Pictures: traced, previewed, on sheets and in films, read back by other programs."""

import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy

from harness import SPACE, Case, frames, main

SIZE = ("--size", "48x32")
QUICK = (*SIZE, "--samples", 2, "-q")
FFMPEG = shutil.which("ffmpeg")
needs_ffmpeg = unittest.skipUnless(FFMPEG, "no ffmpeg")


def decode(path, pixels="rgb24", *options):
    """A picture as rows of pixels, by ffmpeg's own decoders."""
    out = subprocess.run(
        [FFMPEG, "-loglevel", "error", *options, "-i", path, "-f", "rawvideo", "-pix_fmt", pixels, "-"],
        capture_output=True, check=True,
    ).stdout
    if pixels == "rgb24":
        return numpy.frombuffer(out, numpy.uint8).reshape(32, 48, 3)
    planes = numpy.frombuffer(out, numpy.float32).reshape(-1, 32, 48)
    return numpy.stack([planes[2], planes[0], planes[1], *planes[3:]], axis=2)  # gbr(a) to rgb(a)


class Scenes(Case):
    def setUp(self):
        super().setUp()
        self.space = self.write("space.yaml", SPACE)

    def run_space(self, *options):
        self.firn("run", self.space, "-o", "out", "--backend", "cpu", "-q", *options)

    def bytes(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def share_that_differs(self, one, other):
        if not FFMPEG:
            self.skipTest("no ffmpeg")
        return (abs(decode(self.path(one)).astype(int) - decode(self.path(other))) > 2).any(axis=2).mean()


class Traced(Scenes):
    def test_frame_run_and_scene(self):
        self.run_space()
        self.firn("render", "out/frame_0002.hdf", "-o", "frame.png", *QUICK)
        self.firn("render", "out", "-o", "run.png", *QUICK)
        self.assertEqual(self.bytes("frame.png"), self.bytes("run.png"))
        self.firn("render", "out", "--frame", 0, "-o", "start.png", *QUICK)
        self.firn("render", self.space, "-o", "scene.png", *QUICK)
        self.assertLess(self.share_that_differs("start.png", "scene.png"), 0.02)  # a frame has shorter numbers
        self.assertGreater(self.share_that_differs("start.png", "run.png"), 0.05)
        self.firn("render", "out/checkpoint.h5", "-o", "checkpoint.png", *QUICK)
        # The ground is found through the run's folder; elsewhere it must be named.
        shutil.copy(self.path("out", "frame_0002.hdf"), self.path("alone.hdf"))
        self.firn("render", "alone.hdf", "-o", "alone.png", *QUICK)
        self.assertNotEqual(self.bytes("alone.png"), self.bytes("run.png"))
        self.firn("render", "alone.hdf", "--scene", self.space, "-o", "named.png", *QUICK)
        self.assertEqual(self.bytes("named.png"), self.bytes("run.png"))
        self.firn("render", "out", "--frame", 7, "-o", "no.png", code=66)

    def test_overrides_of_a_run_are_remembered(self):
        self.run_space("--frames", 0, "--set", "colliders.ground.surface.colour=[1, 0, 0]")
        self.firn("render", "out", "-o", "red.png", *QUICK)
        self.firn("render", "out", "-o", "grey.png", "--set", "colliders.ground.surface.colour=0.1", *QUICK)
        self.assertNotEqual(self.bytes("red.png"), self.bytes("grey.png"))

    def test_any_number_of_threads(self):
        self.firn("render", self.space, "-o", "one.exr", "--threads", 1, *QUICK)
        self.firn("render", self.space, "-o", "three.exr", "--threads", 3, *QUICK)
        self.assertEqual(self.bytes("one.exr"), self.bytes("three.exr"))
        self.firn("render", self.space, "-o", "seed.exr", "--seed", 5, *QUICK)
        self.assertNotEqual(self.bytes("one.exr"), self.bytes("seed.exr"))

    def test_more_samples_later(self):
        self.firn("render", self.space, "-o", "whole.png", *SIZE, "--samples", 6)
        self.firn("render", self.space, "-o", "parts.png", *SIZE, "--samples", 2, "--film", "film.exr")
        self.assertNotEqual(self.bytes("whole.png"), self.bytes("parts.png"))
        _, err = self.firn("render", self.space, "-o", "parts.png", *SIZE, "--samples", 6, "--film", "film.exr")
        self.assertIn("going on with film.exr: 2 samples", err)
        self.assertEqual(self.bytes("whole.png"), self.bytes("parts.png"))
        _, err = self.firn("render", self.space, "-o", "x.png", *SIZE, "--sun", 60, "--film", "film.exr", code=65)
        self.assertIn("film.exr is of another picture", err)

    def test_interrupted(self):
        arguments = ["render", self.space, "-o", "x.png", "--size", "160x100", "--samples", 40]
        self.firn(*arguments[:3], "whole.png", *arguments[4:])
        process = self.start(*arguments)
        time.sleep(0.6)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("finished before it could be interrupted")
        self.assertEqual(process.returncode, 75, err)
        if os.path.exists(self.path("x.png.film.exr")):
            self.assertIn("the same command goes on", err)
            self.assertTrue(os.path.exists(self.path("x.png")))
        self.firn(*arguments)
        self.assertEqual(self.bytes("x.png"), self.bytes("whole.png"))
        self.assertFalse(os.path.exists(self.path("x.png.film.exr")))

    def test_time(self):
        begin = time.time()
        _, err = self.firn("render", self.space, "-o", "x.exr", "--size", "64x48", "--time", 0.5)
        self.assertLess(time.time() - begin, 30)
        self.assertRegex(err, r"x\.exr: \d+ samples in .*; the same command goes on")
        before = int(err.split("x.exr: ")[1].split()[0])
        _, err = self.firn("render", self.space, "-o", "x.exr", "--size", "64x48", "--time", 0.5)
        self.assertIn("going on with x.exr.film.exr", err)
        self.assertGreaterEqual(int(err.split("x.exr: ")[-1].split()[0]), max(before, 1))

    def test_camera_by_options(self):
        self.firn("render", self.space, "-o", "a.png", "--position", "0,0.1,0.6", "--target", "0,0.06,0",
                  "--view", 40, "--aperture", 0.02, "--focus", 0.5, *QUICK)
        self.firn("render", self.space, "-o", "b.png", "--set", "camera.position=[0,0.1,0.6]", "--set",
                  "camera.target=[0,0.06,0]", "--set", "camera.field_of_view=40", "--set",
                  "camera.aperture=0.02", "--set", "camera.focus=0.5", *QUICK)
        self.assertEqual(self.bytes("a.png"), self.bytes("b.png"))
        self.firn("render", self.space, "-o", "c.png", "--azimuth", 90, "--elevation", 40, "--zoom", 0.5,
                  "--shutter", 0.5, "--exposure", -1, *QUICK)
        self.assertNotEqual(self.bytes("a.png"), self.bytes("c.png"))

    def test_denoising_drafts(self):
        self.firn("render", self.space, "-o", "draft.png", "--draft", *SIZE)
        self.firn("render", self.space, "-o", "noisy.png", "--draft", "--denoise", "off", *SIZE)
        self.firn("render", self.space, "-o", "final.png", "--samples", 12, *SIZE)
        self.assertNotEqual(self.bytes("draft.png"), self.bytes("noisy.png"))
        self.assertEqual(self.bytes("noisy.png"), self.bytes("final.png"))

    def test_two_dimensions(self):
        self.firn("render", self.scene, "-o", "x.png", *QUICK)


class Absurd(Scenes):
    def refuse(self, code, words, *options):
        _, err = self.firn("render", self.space, "-o", "x.png", *options, code=code)
        self.assertIn(words, err)
        self.assertFalse(os.path.exists(self.path("x.png")))

    def test_cameras(self):
        self.refuse(65, "are the same point", "--position", "1,2,3", "--target", "1,2,3")
        self.refuse(65, "field_of_view is 0", "--view", 0)
        self.refuse(65, "field_of_view is 180", "--view", 180)
        self.refuse(65, "must be a finite number", "--position", "nan,0,0")
        self.refuse(65, "position has 2 entries", "--position", "1,2")
        self.refuse(65, "zoom has no meaning with a position", "--position", "1,2,3", "--zoom", 2)
        self.refuse(65, "shutter is 9", "--shutter", 9)

    def test_sizes_and_samples(self):
        self.refuse(2, "--size is WIDTHxHEIGHT", "--size", "0x0")
        self.refuse(2, "--size is WIDTHxHEIGHT", "--size", "64x")
        self.refuse(2, "--samples must be from 1", "--samples", 0)
        self.refuse(65, "width is 0 pixels", "--set", "render.width=0")
        self.refuse(2, "exclude each other", "--preview", "--draft")

    def test_lights(self):
        self.refuse(66, "none.exr", "--environment", "none.exr")
        self.refuse(66, "none.exr", "--set", "render.lights=[{type: environment, file: none.exr}]")
        self.write("text.exr", "hello")
        self.refuse(65, "is not an OpenEXR file", "--environment", "text.exr")
        self.refuse(65, "no light", "--set", "render.sun.strength=0", "--set", "render.sky.strength=0")

    def test_empty_frame(self):
        self.run_space("--frames", 0)
        with h5py.File(self.path("out", "frame_0000.hdf"), "r+") as file:
            data = file["VTKHDF"]
            for group in (data, data["PointData"]):
                for name in list(group):
                    if isinstance(group[name], h5py.Dataset) and name != "Version":
                        rows = group[name][:0]
                        if name.startswith("NumberOf") or name == "Offsets":
                            rows = numpy.zeros(1, group[name].dtype)
                        attributes = dict(group[name].attrs)
                        del group[name]
                        group[name] = rows
                        group[name].attrs.update(attributes)
        _, err = self.firn("render", "out/frame_0000.hdf", "-o", "x.png", *QUICK, code=65)
        self.assertIn("no particles", err)
        self.firn("render", "out/frame_0000.hdf", "-o", "x.png", "--preview")

    def test_outputs(self):
        for name, words in (("x.tiff", "ends in .png, .exr or .mp4"), ("x", "ends in"), (".png", "ends in")):
            _, err = self.firn("render", self.space, "-o", name, code=2)
            self.assertIn(words, err)
        self.firn("render", self.space, "-o", "/proc/firn/x.png", code=74)
        self.firn("render", "none", "-o", "x.png", code=66)
        _, err = self.firn("render", self.space, "-o", "x.mp4", code=74, env={"PATH": self.home})
        self.assertIn("apt install ffmpeg", err)


class Many(Scenes):
    def test_numbered(self):
        self.run_space()
        options = ["render", "out", "-o", "p_###.png", *SIZE, "--samples", 1]
        self.firn(*options, "--every", 2)
        self.assertEqual(sorted(name for name in os.listdir(self.home) if name.startswith("p_")),
                         ["p_000.png", "p_002.png"])
        first = os.stat(self.path("p_000.png")).st_mtime_ns
        _, err = self.firn(*options, "--every", 2)
        self.assertEqual(err.count("is there"), 2)
        self.assertEqual(os.stat(self.path("p_000.png")).st_mtime_ns, first)
        self.firn(*options, "--first", 2, "--exposure", 1)
        self.assertEqual(os.stat(self.path("p_000.png")).st_mtime_ns, first)
        self.firn(*options, "--first", 5, code=66)

    @needs_ffmpeg
    def test_film(self):
        self.run_space()
        self.firn("render", "out", "-o", "x.mp4", "--size", "49x32", "--samples", 1, "--fps", 12)
        self.assertFalse(os.path.exists(self.path("x.mp4.frames")))
        out = subprocess.run(
            ["ffprobe", "-loglevel", "error", "-count_frames", "-of", "csv=p=0", "-show_entries",
             "stream=codec_name,width,height,pix_fmt,r_frame_rate,nb_read_frames", self.path("x.mp4")],
            capture_output=True, text=True, check=True,
        ).stdout
        self.assertEqual(out.strip(), "h264,50,32,yuv420p,12/1,3")
        self.firn("render", "out", "-o", "preview.mp4", "--preview", "--size", "64x48")
        self.assertGreater(os.path.getsize(self.path("preview.mp4")), 500)

    def test_while_simulating(self):
        self.run_space("--render", "--frames", 1)
        self.assertEqual(sorted(name for name in os.listdir(self.path("out")) if name.startswith("picture")),
                         ["picture_0000.png", "picture_0001.png"])
        self.firn("run", self.space, "-o", "plain", "--backend", "cpu", "-q", "--frames", 1)
        self.assert_same_run(self.path("out"), self.path("plain"), 1)
        self.run_space("--render", "--render-as", "draft", "--set", "render.width=48", "--set", "render.height=32")
        self.assertEqual(len(frames(self.path("out"))), 3)
        self.assertTrue(os.path.exists(self.path("out", "picture_0002.png")))


@needs_ffmpeg
class Foreign(Scenes):
    """What other programs find in the files."""

    def test_layers(self):
        self.firn("render", self.space, "-o", "x.exr", *SIZE, "--samples", 8)
        light = decode(self.path("x.exr"), "gbrapf32le")
        self.assertTrue(numpy.isfinite(light).all())
        self.assertLess(light[0, :, 3].mean(), 0.5)  # sky above,
        self.assertGreater(light[-1, :, 3].mean(), 0.9)  # ground below
        albedo = decode(self.path("x.exr"), "gbrpf32le", "-layer", "albedo")
        normal = decode(self.path("x.exr"), "gbrpf32le", "-layer", "normal")
        self.assertTrue(((albedo >= 0) & (albedo <= 1.001)).all())
        self.assertTrue((numpy.linalg.norm(normal, axis=2) < 1.001).all())
        self.assertGreater(normal[-1, :, 1].mean(), 0.9)
        self.firn("render", self.space, "-o", "f.exr", *SIZE, "--samples", 8, "--set", "render.precision=float")
        exact = decode(self.path("f.exr"), "gbrapf32le")
        numpy.testing.assert_allclose(light, exact, rtol=1e-3, atol=1e-6)
        self.firn("render", self.space, "-o", "x.png", *SIZE, "--samples", 8, "--set", "render.tone=plain", "--set", "render.exposure=0")
        linear = numpy.clip(exact[:, :, :3], 0, 1)
        srgb = numpy.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
        difference = decode(self.path("x.png")) - 255 * srgb
        self.assertLess(abs(difference).max(), 1.01)
        self.assertLess(abs(difference.mean()), 0.05)  # the dither is even
        patches = difference.reshape(4, 8, 6, 8, 3).mean(axis=(1, 3))
        self.assertLess(abs(patches).max(), 0.3)  # and everywhere: no bands, which would be off by up to 0.5

    def test_environment(self):
        self.firn("render", self.space, "-o", "sky.exr", *SIZE, "--samples", 1)
        self.firn("render", self.space, "-o", "x.png", "--environment", "sky.exr", *QUICK)
        self.assertGreater(decode(self.path("x.png")).mean(), 5)


if __name__ == "__main__":
    main()
