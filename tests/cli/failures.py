"""What ends a run before its time: each exit code, its message, and what is left in the folder."""

import json
import os
import resource
import signal
import subprocess
import tempfile
import time

import numpy

from harness import BLOCK, Case, attribute, frames, leftovers, log, main, particles, state


class BadInput(Case):
    def test_typo_in_scene(self):
        scene = self.write("typo.yaml", BLOCK.replace("cell_size", "cel_size"))
        for verb in ("run", "check"):
            out, err = self.firn(verb, scene, code=65)
            self.assertEqual(out, "")
            self.assertIn(f"{scene}:6:3", err)
            self.assertIn("cell_size", err)
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_bad_set(self):
        for override in ("simulation.cel_size=1", "simulation.cell_size=-1"):
            _, err = self.firn("check", self.scene, "--set", override, code=65)
            self.assertIn("cell_size", err)

    def test_missing_files(self):
        for arguments in (
            ["run", "none.yaml"],
            ["check", "none.yaml"],
            ["info", "none.h5"],
            ["render", "none.hdf", "-o", "x.png"],
            ["run", self.scene, "--resume", "none.h5"],
        ):
            _, err = self.firn(*arguments, code=66)
            self.assertIn("none.", err)

    def test_folder_in_place_of_a_file(self):
        os.mkdir(self.path("folder"))
        self.firn("info", "folder", code=66)
        _, err = self.firn("render", "folder", "-o", "x.png", code=66)
        self.assertIn("holds no frames", err)


    def test_backend_without_solver(self):
        """A scene that asks for a solver, on a backend that may not have one."""
        semi = ["--set", "simulation.integrator=semi_implicit"]
        self.firn("run", self.scene, "-o", "ref", *semi, "--steps", 2, "--backend", "ref")
        done = self.start("run", self.scene, "-o", "cpu", *semi, "--steps", 2, "--backend", "cpu")
        _, err = done.communicate()
        self.assertIn(done.returncode, (0, 2), err)
        if done.returncode == 2:
            self.assertIn("semi_implicit", err)
            self.assertIn("--backend ref", err)


class BadOutput(Case):
    def test_folder_that_cannot_be(self):
        for folder in (self.scene, f"{self.scene}/x", "/proc/firn"):
            started = time.time()
            _, err = self.firn("run", self.scene, "-o", folder, code=74)
            self.assertIn(folder, err)
            self.assertLess(time.time() - started, 30)

    def test_files_that_cannot_be(self):
        for option in ("--checkpoint", "--log-json"):
            for path in ("/proc/firn/x", self.home):
                _, err = self.firn("run", self.scene, "-o", "out", option, path, code=74)
                self.assertRegex(err, "/proc/firn|" + self.home)
                self.assertEqual(frames(self.path("out")), [])

    def test_file_size_limit(self):
        """A limit that lets early files through and stops a later, larger write."""
        ply = ["--set", "output.formats=[vtkhdf, ply]"]
        self.firn("run", self.scene, "-o", "whole", *ply)
        size = os.path.getsize(self.path("whole", "frame_0000.hdf"))
        for limit in (size // 2, 1000):
            folder = f"limit{limit}"

            def lower(limit=limit):
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            _, err = self.firn("run", self.scene, "-o", folder, *ply, code=74, preexec_fn=lower)
            self.assertIn("error:", err)
            self.assert_only_whole_files(folder)
            self.firn("run", self.scene, "-o", folder, *ply)
            self.assert_same_run(self.path("whole"), self.path(folder), 5)

    def mount(self, size):
        """A disk of that size, or no test."""
        disk = self.path("disk")
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk]
        if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
            self.skipTest("needs to mount a file system")
        self.addCleanup(subprocess.run, ["umount", disk], check=False)

    def enlarge_disk(self):
        subprocess.run(["mount", "-o", "remount,size=16m", self.path("disk")], check=True)

    def test_full_disk(self):
        """A disk too small for the run; with more room the same command goes on."""
        self.mount("160k")
        _, err = self.firn("run", self.scene, "-o", "disk/run", code=74)
        self.assertIn("No space left", err)
        self.assert_only_whole_files("disk/run")
        self.enlarge_disk()
        self.firn("run", self.scene, "-o", "disk/run")
        self.firn("run", self.scene, "-o", "whole")
        self.assert_same_run(self.path("whole"), self.path("disk/run"), 5)

    def test_full_disk_under_the_log(self):
        self.mount("4k")
        run = ["run", self.scene, "-o", "out", "--frames", 12, "--log-json", "disk/log.jsonl"]
        _, err = self.firn(*run, code=74)
        self.assertIn("disk/log.jsonl: No space left", err)
        self.assert_only_whole_files("disk")
        self.enlarge_disk()
        self.firn(*run)
        entries = log(self.path("disk/log.jsonl"))
        self.assertEqual([entry["frame"] for entry in entries], list(range(13)))

    def assert_only_whole_files(self, folder):
        folder = self.path(folder)
        self.assertEqual(leftovers(folder), [])
        for name in os.listdir(folder):
            if name.endswith((".hdf", ".h5")):
                state(os.path.join(folder, name))
            if name.endswith(".jsonl"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                self.assertTrue(text == "" or text.endswith("}\n"))

    def test_log_that_breaks(self):
        """A log whose reader goes away is an output that failed."""
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "w") as pipe:
            _, err = self.firn(
                "run", self.scene, "--log-json", f"/dev/fd/{pipe.fileno()}", code=74, pass_fds=[pipe.fileno()]
            )
        self.assertIn("Broken pipe", err)


class BlowUp(Case):
    def test_time_step_ten_times_too_large(self):
        out, _ = self.firn("check", self.scene, "--json")
        step = 10 * json.loads(out)["stable_dt"]
        set_step = ["--set", f"simulation.time_step={step}", "--set", "simulation.frames=200",
                    "--set", "simulation.retries=0"]
        _, err = self.firn("run", self.scene, "-o", "out", *set_step, "--checkpoint-every", 0, code=70)
        self.assertRegex(err, r"step \d+")
        self.assertRegex(err, r"particle \d+")
        checkpoint = self.path("out", "checkpoint.h5")
        self.assertIn("out/checkpoint.h5", err)
        self.assertTrue(numpy.isfinite(particles(checkpoint, "position")).all())
        self.assertEqual(leftovers(self.path("out")), [])
        good = attribute(checkpoint, "step")
        self.assertIn(f"error: step {good} ", err)
        self.assertIn(f"step {good}\n", err)
        before = state(checkpoint)
        self.firn("run", self.scene, "-o", "out", *set_step, code=70)
        self.assertEqual(state(checkpoint), before)

        # From the last good state with a stable step it goes on.
        last = attribute(checkpoint, "frame") + 1
        _, err = self.firn("run", self.scene, "-o", "out", "--resume", "out/checkpoint.h5", "--frames", last)
        self.assertIn("another scene", err)
        self.assertEqual(attribute(checkpoint, "frame"), last)

    def test_retries(self):
        """The same step with retries: the run ends well, and the log and the lines say what it took."""
        out, _ = self.firn("check", self.scene, "--json")
        step = 10 * json.loads(out)["stable_dt"]
        set_step = ["--set", f"simulation.time_step={step}"]
        _, err = self.firn("run", self.scene, "-o", "whole", *set_step)
        self.assertRegex(err, r"frame \d+/5 .* \d+ retries")
        entries = log(self.path("whole"))
        self.assertGreater(sum(entry["retries"] for entry in entries), 0)
        self.assertTrue(numpy.isfinite(particles(self.path("whole", "checkpoint.h5"), "position")).all())
        for step in (3, 7, 11):
            self.firn("run", self.scene, "-o", "parts", *set_step, "--steps", step)
        self.firn("run", self.scene, "-o", "parts", *set_step)
        self.assert_same_run(self.path("whole"), self.path("parts"), 5)


class Stopped(Case):
    def test_max_hours(self):
        self.firn("run", self.scene, "-o", "whole")
        codes = []
        for _ in range(200):
            process = self.start("run", self.scene, "-o", "out", "--max-hours", 0.01 / 3600)
            _, err = process.communicate()
            codes.append(process.returncode)
            if process.returncode == 0:
                break
            self.assertEqual(process.returncode, 75, err)
            self.assertIn("to continue: firn run", err)
        self.assertEqual(codes[-1], 0)
        self.assertGreater(len(codes), 1)
        self.assert_same_run(self.path("whole"), self.path("out"), 5)

    def test_no_time_at_all_still_moves(self):
        for step in (1, 2, 3):
            self.firn("run", self.scene, "-o", "out", "--max-hours", 1e-9, code=75)
            self.assertEqual(attribute(self.path("out", "checkpoint.h5"), "step"), step)

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            folder = f"out{int(number)}"
            process = self.start("run", self.scene, "-o", folder, "--resume", "never", "--frames", 1000)
            self.wait_for(self.path(folder, "frame_0001.hdf"), process)
            process.send_signal(number)
            _, err = process.communicate()
            self.assertEqual(process.returncode, 75, err)
            self.assertIn(f"to continue: firn run --backend ref {self.scene} -o {folder} --frames 1000\n", err)
            self.assertEqual(leftovers(self.path(folder)), [])

    def test_two_signals_at_once_are_one_request(self):
        """As timeout(1) sends them: to the program, and to its group."""
        process = self.start("run", self.scene, "-o", "out", "--frames", 1000)
        self.wait_for(self.path("out", "frame_0001.hdf"), process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 75, err)
        self.assertGreater(attribute(self.path("out", "checkpoint.h5"), "step"), 0)

    def test_second_signal_ends_at_once(self):
        scene = self.write("large.yaml", BLOCK.replace("0.02", "0.0004"))
        process = self.start("run", scene, "-o", "out", "--frames", 1000)
        self.wait_for(self.path("out", "frame_0000.hdf"), process)
        # Signals that come too close are one request; a step of this scene takes far longer.
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        process.communicate()
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_one_run_at_a_time(self):
        process = self.start("run", self.scene, "-o", "out", "--frames", 100000)
        self.wait_for(self.path("out", "frame_0000.hdf"), process)
        _, err = self.firn("run", self.scene, "-o", "out", code=74)
        self.assertIn("another run is writing", err)


if __name__ == "__main__":
    main()
