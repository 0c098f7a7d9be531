"""Continuing runs: the same bits as never stopping, and no mixing of runs that differ."""

import os
import re
import shutil
import signal
import time

import h5py
import numpy

from harness import BLOCK, FLIGHT, LONG, SPACE, Case, attribute, frames, leftovers, log, main, particles


class SameBits(Case):
    def test_interrupted_at_several_points(self):
        self.scene = self.write("long.yaml", LONG)
        begin = time.time()
        self.firn("run", self.scene, "-o", "whole")
        whole = time.time() - begin
        stops = 0
        for part in (0.1, 0.3, 0.5, 0.7, 0.9):
            folder = f"part{part}"
            process = self.start("run", self.scene, "-o", folder)
            time.sleep(part * whole)
            process.send_signal(signal.SIGINT)
            process.communicate()
            # Before its handlers are set, or after it is done, a signal finds no run to stop.
            self.assertIn(process.returncode, (75, 0, -signal.SIGINT))
            stops += process.returncode == 75
            self.firn("run", self.scene, "-o", folder)
            self.assert_same_run(self.path("whole"), self.path(folder), 5)
            self.assertEqual(leftovers(self.path(folder)), [])
        self.assertGreaterEqual(stops, 1)

    def test_every_kind_of_method(self):
        for kernel in ("cubic", "quadratic"):
            for transfer in ("flip", "apic", "mls"):
                method = ["--set", f"simulation.kernel={kernel}"]
                method += ["--set", f"simulation.transfer={{type: {transfer}}}"]
                whole, parts = f"whole_{kernel}_{transfer}", f"parts_{kernel}_{transfer}"
                self.firn("run", self.scene, "-o", whole, *method, "--steps", 25)
                for step in (1, 9, 25):
                    self.firn("run", self.scene, "-o", parts, *method, "--steps", step)
                self.assert_same_state(self.path(whole, "checkpoint.h5"), self.path(parts, "checkpoint.h5"))

    def test_every_backend(self):
        space = self.write("space.yaml", SPACE)
        features = self.firn("--version")[0]
        backends = [name for name in ("ref", "cpu") if re.search(rf"backends:[^;\n]*\b{name}\b", features)]
        self.assertIn("ref", backends)
        for name in backends:
            for scene in (space, self.scene):
                dimensions = "3d" if scene == space else "2d"
                whole, parts = f"whole_{name}_{dimensions}", f"parts_{name}_{dimensions}"
                self.firn("run", scene, "-o", whole, "--backend", name, "--frames", 2)
                for step in (1, 10, 23):
                    self.firn("run", scene, "-o", parts, "--backend", name, "--steps", step)
                self.firn("run", scene, "-o", parts, "--backend", name, "--frames", 2)
                self.assert_same_run(self.path(whole), self.path(parts), 2)

    def test_checkpoints_in_the_middle_of_frames_leave_no_trace(self):
        self.firn("run", self.scene, "-o", "whole")
        self.firn("run", self.scene, "-o", "often", "--checkpoint-every", 1e-5)
        self.assert_same_run(self.path("whole"), self.path("often"), 5)


class Steps(Case):
    def test_steps_count_from_the_start(self):
        self.firn("run", self.scene, "-o", "whole", "--steps", 20, "--checkpoint", "whole.h5")
        self.firn("run", self.scene, "-o", "first", "--steps", 15, "--checkpoint", "first.h5")
        self.assertEqual(attribute(self.path("first.h5"), "step"), 15)
        _, err = self.firn(
            "run", self.scene, "-o", "rest", "--resume", "first.h5", "--steps", 20, "--checkpoint", "rest.h5"
        )
        self.assertIn("step 15", err)
        self.assertEqual(attribute(self.path("rest.h5"), "step"), 20)
        self.assert_same_state(self.path("whole.h5"), self.path("rest.h5"))

    def test_steps_already_done(self):
        self.firn("run", self.scene, "-o", "out", "--steps", 15)
        _, err = self.firn("run", self.scene, "-o", "out", "--steps", 10, "--checkpoint", "end.h5")
        self.assertIn("already finished", err)
        self.assertEqual(attribute(self.path("end.h5"), "step"), 15)

    def test_frames_after_steps(self):
        self.firn("run", self.scene, "-o", "whole")
        self.firn("run", self.scene, "-o", "out", "--steps", 30)
        self.firn("run", self.scene, "-o", "out")
        self.assert_same_run(self.path("whole"), self.path("out"), 5)


class Folder(Case):
    def test_finished_and_further(self):
        self.firn("run", self.scene, "-o", "whole", "--frames", 5)
        self.firn("run", self.scene, "-o", "out", "--frames", 2)
        before = os.stat(self.path("out", "checkpoint.h5")).st_mtime_ns
        _, err = self.firn("run", self.scene, "-o", "out", "--frames", 2)
        self.assertIn("already finished: frame 2", err)
        self.assertEqual(os.stat(self.path("out", "checkpoint.h5")).st_mtime_ns, before)
        self.firn("run", self.scene, "-o", "out")
        self.assert_same_run(self.path("whole"), self.path("out"), 5)

    def test_no_frames(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 0)
        self.assertEqual(frames(self.path("out")), ["frame_0000.hdf"])
        self.assertEqual(len(log(self.path("out"))), 1)

    def test_name_and_output_may_change(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 2)
        other = self.write("other.yaml", BLOCK.replace("name: block\nsim", "name: renamed\nsim"))
        self.firn("run", other, "-o", "out", "--frames", 3, "--set", "output.formats=[ply]")
        self.assertEqual(
            frames(self.path("out")),
            ["frame_0000.hdf", "frame_0001.hdf", "frame_0002.hdf", "frame_0003.ply"],
        )

    def test_another_scene_is_refused(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 3)
        before = log(self.path("out"))
        slower = ["--set", "snow.block.velocity=[0, -1]"]
        _, err = self.firn("run", self.scene, "-o", "out", *slower, code=65)
        self.assertIn("another scene", err)
        self.assertIn("--resume never", err)
        self.assertIn("-o DIR", err)
        self.assertEqual(log(self.path("out")), before)

        _, err = self.firn("run", self.scene, "-o", "out", *slower, "--resume", "never", "--frames", 1)
        self.assertIn("removed 3 frame files", err)
        self.assertEqual(frames(self.path("out")), ["frame_0000.hdf", "frame_0001.hdf"])
        self.firn("run", self.scene, "-o", "new", *slower, "--frames", 1)
        self.assert_same_run(self.path("new"), self.path("out"), 1)

    def test_frames_without_checkpoint_are_refused(self):
        self.firn("run", self.scene, "-o", "out", "--frames", 1)
        os.remove(self.path("out", "checkpoint.h5"))
        os.remove(self.path("out", "checkpoint_previous.h5"))
        _, err = self.firn("run", self.scene, "-o", "out", code=65)
        self.assertIn("frames but no checkpoint", err)
        self.assertEqual(frames(self.path("out")), ["frame_0000.hdf", "frame_0001.hdf"])

    def test_foreign_files_stay(self):
        os.mkdir(self.path("out"))
        self.write("out/notes.txt", "mine")
        self.write("out/frame_x.hdf", "mine")
        self.firn("run", self.scene, "-o", "out", "--frames", 1)
        self.firn("run", self.scene, "-o", "out", "--frames", 0, "--resume", "never")
        self.assertEqual(sorted(leftovers(self.path("out"))), ["frame_x.hdf", "notes.txt"])


class Damage(Case):
    def setUp(self):
        super().setUp()
        self.firn("run", self.scene, "-o", "whole")
        self.firn("run", self.scene, "-o", "out", "--frames", 3, "--checkpoint-every", 0)

    def damage(self, name, size):
        with open(self.path("out", name), "r+b") as file:
            file.truncate(size)

    def test_newest_is_damaged(self):
        for size in (0, 100, os.path.getsize(self.path("out", "checkpoint.h5")) - 1):
            shutil.rmtree(self.path("out"))
            self.firn("run", self.scene, "-o", "out", "--frames", 3, "--checkpoint-every", 0)
            self.damage("checkpoint.h5", size)
            _, err = self.firn("run", self.scene, "-o", "out")
            self.assertIn("warning:", err)
            self.assertIn("continuing from out/checkpoint_previous.h5: frame 2", err)
            self.assert_same_run(self.path("whole"), self.path("out"), 5)
            self.assertEqual(attribute(self.path("out", "checkpoint_previous.h5"), "frame"), 2)

    def test_newest_is_gone(self):
        os.remove(self.path("out", "checkpoint.h5"))
        _, err = self.firn("run", self.scene, "-o", "out")
        self.assertIn("continuing from out/checkpoint_previous.h5: frame 2", err)
        self.assert_same_run(self.path("whole"), self.path("out"), 5)

    def test_both_are_damaged(self):
        self.damage("checkpoint.h5", 50)
        self.damage("checkpoint_previous.h5", 50)
        process = self.start("run", self.scene, "-o", "out")
        _, err = process.communicate()
        self.assertIn(process.returncode, (65, 66))
        self.assertIn("--resume never", err)
        self.firn("run", self.scene, "-o", "out", "--resume", "never")
        self.assert_same_run(self.path("whole"), self.path("out"), 5)

    def test_log_with_a_broken_end(self):
        path = self.path("out", "log.jsonl")
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"frame":4,"time":1}\n{"frame":2,"ti')
        self.firn("run", self.scene, "-o", "out")
        self.assert_same_run(self.path("whole"), self.path("out"), 5)


class Edited(Case):
    """Changing the arrays with h5py and going on."""

    def setUp(self):
        super().setUp()
        self.scene = self.write("flight.yaml", FLIGHT)
        self.firn("run", self.scene, "-o", "out", "--frames", 2)
        self.checkpoint = self.path("edited.h5")
        shutil.copy(self.path("out", "checkpoint.h5"), self.checkpoint)

    def finish(self, folder, *options):
        self.firn("run", self.scene, "-o", folder, "--frames", 4, *options)
        return self.path(folder, "checkpoint.h5")

    def test_velocity(self):
        with h5py.File(self.checkpoint, "r+") as file:
            file["particles/velocity"][:, 0] += 1.5
        plain = particles(self.finish("out"), "position")
        edited = particles(self.finish("new", "--resume", self.checkpoint), "position")
        # In free flight the whole body is carried along.
        shift = (edited - plain).mean(axis=0)
        self.assertAlmostEqual(shift[0], 1.5 * 2 / 240, delta=1e-6)
        self.assertAlmostEqual(shift[1], 0, delta=1e-6)

    def test_float32(self):
        with h5py.File(self.checkpoint, "r+") as file:
            group = file["particles"]
            for name in list(group):
                values = group[name][()]
                if values.dtype == numpy.float64:
                    attributes = dict(group[name].attrs)
                    del group[name]
                    group.create_dataset(name, data=values.astype(numpy.float32))
                    group[name].attrs.update(attributes)
        plain = particles(self.finish("out"), "position")
        single = particles(self.finish("new", "--resume", self.checkpoint), "position")
        self.assertLess(abs(single - plain).max(), 1e-4)
        self.assertFalse(numpy.array_equal(single, plain))

    def test_in_the_folder_itself(self):
        """An edited state takes the folder over: later frames and log are its own."""
        self.finish("out")
        with h5py.File(self.checkpoint, "r+") as file:
            file["particles/velocity"][:, 0] += 1.5
        self.firn("run", self.scene, "-o", "out", "--resume", self.checkpoint, "--frames", 3)
        self.assertEqual(frames(self.path("out"))[-1], "frame_0003.hdf")
        entries = log(self.path("out"))
        self.assertEqual([entry["frame"] for entry in entries], [0, 1, 2, 3])
        gained = entries[3]["momentum"][0] / entries[3]["mass"] - entries[2]["momentum"][0] / entries[2]["mass"]
        self.assertAlmostEqual(gained, 1.5, delta=1e-6)
        # What follows continues the edited run, not the old one.
        self.finish("out")
        edited = self.finish("new", "--resume", self.checkpoint)
        self.assert_same_state(edited, self.path("out", "checkpoint.h5"))

    def test_not_a_number(self):
        with h5py.File(self.checkpoint, "r+") as file:
            file["particles/velocity"][0, 0] = numpy.nan
        process = self.start("run", self.scene, "-o", "new", "--resume", self.checkpoint, "--frames", 4)
        _, err = process.communicate()
        self.assertIn(process.returncode, (65, 70), err)

    def test_another_scene_is_only_a_warning(self):
        _, err = self.firn(
            "run", self.scene, "-o", "new", "--resume", "edited.h5", "--frames", 3,
            "--set", "simulation.gravity=[0, 0]",
        )
        self.assertIn("warning: edited.h5 was written by another scene", err)


if __name__ == "__main__":
    main()
