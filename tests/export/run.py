"""Frames that a run writes in every format: as `firn convert` would, and whole whatever happens."""

import glob
import json
import os
import resource
import signal
import subprocess
import sys
import time

import h5py
import numpy

from harness import FIRN, Case, main

SLOW_DISK = sys.argv.pop(2) if len(sys.argv) > 2 and sys.argv[2].endswith(".so") else None

SCENE = """\
simulation: {dimensions: 3, frames: 4, fps: 240, cell_size: 0.02}
snow:
  - {name: ball, shape: {sphere: {center: [0, 0.07, 0], radius: 0.06}}, velocity: [1, -5, 0]}
colliders:
  - {name: ground, shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}, friction: 0.4}
"""
EVERY_FORMAT = ["vtkhdf", "ply", "bgeo", "obj", "usda", "npz"]
if "OpenVDB: none" not in subprocess.run([FIRN, "--version"], capture_output=True, text=True, check=True).stdout:
    EVERY_FORMAT.insert(1, "vdb")
EXTENSIONS = {"vtkhdf": "hdf"}


def formats(*names):
    return ["--set", f"output.formats=[{', '.join(names)}]"]


class Run(Case):
    def setUp(self):
        super().setUp()
        with open(self.path("ball.yaml"), "w", encoding="ascii") as file:
            file.write(SCENE)

    def run_firn(self, folder, *arguments, **options):
        return self.firn("run", "ball.yaml", "-o", folder, *arguments, **options)

    def read(self, *parts):
        with open(self.path(*parts), "rb") as file:
            return file.read()

    def assert_whole(self, folder):
        """Nothing but whole files under final names, in step with each other."""
        for path in glob.glob(self.path(folder, "*")):
            name = os.path.basename(path)
            self.assertFalse(name.endswith(".tmp"), name)
            if name.endswith((".hdf", ".h5")):
                with h5py.File(path) as file:
                    file.visititems(lambda _, thing: thing[()] if isinstance(thing, h5py.Dataset) else None)
            if name.endswith(".npz"):
                with numpy.load(path) as arrays:
                    self.assertEqual(len(arrays["position"]), len(arrays["velocity"]))
            if name.endswith(".bgeo"):
                self.assertEqual(self.read(path)[-2:], b"\x00\xff")
            if name.endswith(".series"):
                for entry in json.loads(self.read(path))["files"]:
                    self.assertTrue(os.path.exists(self.path(folder, entry["name"])))


class Formats(Run):
    def test_like_convert(self):
        """With the same precision of positions as frames have, conversion gives the same bytes."""
        self.run_firn("run", *formats(*EVERY_FORMAT))
        others = [name for name in EVERY_FORMAT if name not in ("vtkhdf", "vdb", "bgeo")]
        self.convert(self.path("run"), "--to", ",".join(EVERY_FORMAT), "-o", self.path("again"))
        for name in others:
            for frame in range(5):
                file = f"frame_{frame:04}.{EXTENSIONS.get(name, name)}"
                self.assertEqual(self.read("run", file), self.read("again", file), file)
        for name in ("frames.hdf.series", "frames.usda"):
            self.assertEqual(self.read("run", name), self.read("again", name), name)
        # Positions in volumes come from the simulation in full, and BGEO gets F, which frames leave out.
        count = len(numpy.load(self.path("run", "frame_0004.npz"))["id"])
        more = len(self.read("run", "frame_0004.bgeo")) - len(self.read("again", "frame_0004.bgeo"))
        self.assertEqual(more // count, 36)

    def test_attributes_and_units(self):
        self.run_firn("run", *formats("vtkhdf", "npz"), "--set", "output.attributes=[F_E, stress]",
                      "--set", "output.up=z", "--set", "output.scale=100")
        with h5py.File(self.path("run", "frame_0002.hdf")) as file:
            data = file["VTKHDF/PointData"]
            self.assertEqual(set(data), {"velocity", "density", "J_P", "mass", "F_E", "stress", "id", "object"})
            position = file["VTKHDF/Points"][()]
            self.assertAlmostEqual(file.attrs["cell_size"], 0.02)
            self.assertEqual(file.attrs["kernel"], b"cubic")
        with numpy.load(self.path("run", "frame_0002.npz")) as found:
            self.assertNotIn("velocity", found)
            self.assertEqual(found["F_E"].shape[1:], (3, 3))
            x, y, z = position.T
            numpy.testing.assert_allclose(found["position"], 100 * numpy.stack([x, -z, y], axis=1), rtol=1e-5)

    def test_index_of_a_resumed_run(self):
        self.run_firn("whole", *formats("vtkhdf", "usda"))
        for last in (1, 3, 4):
            self.run_firn("parts", *formats("vtkhdf", "usda"), "--frames", last)
            files = json.loads(self.read("parts", "frames.hdf.series"))["files"]
            self.assertEqual([f["name"] for f in files], [f"frame_{k:04}.hdf" for k in range(last + 1)])
        for name in ("frames.hdf.series", "frames.usda"):
            self.assertEqual(self.read("whole", name), self.read("parts", name))
        self.run_firn("parts", "--resume", "never", "--frames", 1)
        self.assertFalse(os.path.exists(self.path("parts", "frames.usda")))
        self.assertEqual(len(json.loads(self.read("parts", "frames.hdf.series"))["files"]), 2)


class Trouble(Run):
    def test_file_size_limit(self):
        self.run_firn("whole", *formats(*EVERY_FORMAT))
        sizes = {e: os.path.getsize(self.path("whole", f"frame_0000.{e}")) for e in ("hdf", "npz", "ply", "bgeo")}
        for limit in sorted(size - 50 for size in sizes.values()):
            folder = f"limit{limit}"
            _, err = self.run_firn(folder, *formats(*EVERY_FORMAT), code=74,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertIn("File too large", err)
            self.assert_whole(folder)
            self.run_firn(folder, *formats(*EVERY_FORMAT))
            self.assertEqual(self.read("whole", "frame_0004.ply"), self.read(folder, "frame_0004.ply"))

    def test_convert_to_a_small_file(self):
        self.run_firn("run", "--frames", 0)
        for name in EVERY_FORMAT[1:]:
            limit = 2000
            _, err = self.firn("convert", "run", "--to", name, "-o", "out", code=74,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertIn("File too large", err)
            self.assertEqual(os.listdir(self.path("out")), [])

    def test_full_disk(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=700k", "tmpfs", disk]
        if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            self.skipTest("needs to mount a file system")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)
        _, err = self.run_firn("disk/run", *formats(*EVERY_FORMAT), code=74)
        self.assertIn("No space left", err)
        self.assert_whole("disk/run")
        self.assertTrue(os.path.exists(self.path("disk/run/frame_0000.hdf")))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        self.run_firn("disk/run", *formats(*EVERY_FORMAT))
        self.run_firn("whole", *formats(*EVERY_FORMAT))
        for name in ("frame_0004.ply", "frame_0002.npz", "frames.hdf.series"):
            self.assertEqual(self.read("whole", name), self.read("disk/run", name))

    def test_no_permission(self):
        self.run_firn("run", "--frames", 0)
        self.firn("convert", "run", "--to", "ply", "-o", "/proc/firn", code=74)
        os.mkdir(self.path("closed"), 0o555)
        somebody = {}
        if os.geteuid() == 0:  # whom nothing is forbidden
            os.chmod(self.home, 0o755)
            somebody = {"user": 65534}
        for verb in (["convert", "run", "--to", "ply"], ["run", "ball.yaml", "--frames", 0]):
            _, err = self.firn(*verb, "-o", "closed", code=74, **somebody)
            self.assertIn("Permission denied", err)
            self.assertEqual(os.listdir(self.path("closed")), [])

    def test_killed(self):
        """Killed at many moments: whole files only, and the run ends as if nothing had been."""
        names = formats(*EVERY_FORMAT)
        self.run_firn("whole", *names)
        for life in range(60):
            process = subprocess.Popen([FIRN, "run", "ball.yaml", "-o", "run", *names, "--checkpoint-every", "0"],
                                       cwd=self.home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.02 + 0.01 * life)
            process.send_signal(signal.SIGKILL)
            process.wait()
            for path in glob.glob(self.path("run", "*.tmp")):
                os.remove(path)  # as the next run would
            self.assert_whole("run")
            if process.returncode == 0:
                break
        self.run_firn("run", *names)
        for path in sorted(glob.glob(self.path("whole", "frame*"))):
            name = os.path.basename(path)
            if not name.endswith(".hdf"):
                self.assertEqual(self.read(path), self.read("run", name), name)

    def test_slow_disk(self):
        """The run waits for the disk; what it holds in memory does not grow with the frames."""
        if not SLOW_DISK:
            self.skipTest("needs the slow disk library")
        scene = ["--set", "simulation.cell_size=0.0025", "--set", "simulation.fps=20000"]
        peaks = {}
        for frames in (3, 30):
            environment = dict(os.environ, LD_PRELOAD=SLOW_DISK, SLOW_DISK_MS="10")
            process = subprocess.Popen(
                [FIRN, "run", "ball.yaml", "-o", f"run{frames}", "--frames", str(frames), "-q", *scene],
                cwd=self.home, env=environment)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            self.assertEqual(status, 0)
            self.assertEqual(len(glob.glob(self.path(f"run{frames}", "frame_*.hdf"))), frames + 1)
            peaks[frames] = usage.ru_maxrss * 1024
        with h5py.File(self.path("run3", "frame_0000.hdf")) as file:
            copy = len(file["VTKHDF/Points"]) * 72
        self.assertGreater(copy, 3e6)
        self.assertLess(peaks[30] - peaks[3], 2.5 * copy)


if __name__ == "__main__":
    main()
