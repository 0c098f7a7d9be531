"""Simulations: the same bits as the program, arrays in and out, stopping, and what must not crash."""

import gc
import json
import signal
import subprocess
import sys
import threading
import time

import firn
import h5py
import numpy
from harness import BALL, BLOCK, Case, main

STATE = [name for name in firn.attributes if name not in ("density", "stress")]


class LikeTheProgram(Case):
    def test_same_bits_as_firn_run(self):
        for scene, backend in ((BLOCK, "ref"), (BLOCK, "cpu"), (BALL, "cpu")):
            path = self.write("scene.yaml", json.dumps(scene))
            self.program("run", path, "-o", f"run_{backend}", "--backend", backend, "--resume", "never", "-q")
            sim = firn.Simulation(path, backend=backend)
            frames = list(sim.run())
            self.assertEqual(frames, list(range(1, sim.settings.frames + 1)))
            with h5py.File(self.path(f"run_{backend}", "checkpoint.h5")) as file:
                self.assertEqual(sim.time, file.attrs["time"])
                self.assertEqual(sim.steps, file.attrs["step"])
                for name, data in file["particles"].items():
                    self.assertTrue((data[...] == sim[name]).all(), name)

    def test_threads_change_no_bit(self):
        one, two = (firn.Simulation(BALL, threads=threads) for threads in (1, 2))
        for sim in (one, two):
            sim.advance(2)
        for name in STATE:
            self.assertTrue((one[name] == two[name]).all(), name)
        with self.assertRaises(firn.Error) as caught:
            firn.Simulation(BALL, threads=-1)
        self.assertIs(caught.exception.status, firn.Status.USAGE)

    def test_backends(self):
        self.assertEqual(firn.Simulation(BLOCK, backend="ref").backend, "ref")
        self.assertTrue(firn.Simulation(BLOCK, backend="ref").is_double)
        self.assertFalse(firn.Simulation(BLOCK, backend="cpu").is_double)
        with self.assertRaisesRegex(firn.Error, "unknown backend 'abacus'"):
            firn.Simulation(BLOCK, backend="abacus")


class Arrays(Case):
    def test_shapes(self):
        for scene, d in ((BLOCK, 2), (BALL, 3)):
            sim = firn.Simulation(scene)
            n = len(sim)
            self.assertEqual(sim.dimensions, d)
            for name, shape in (("position", (n, d)), ("F_E", (n, d, d)), ("J_P", (n,)), ("density", (n,))):
                self.assertEqual(sim[name].shape, shape)
                self.assertEqual(sim[name].dtype, numpy.float64)
            self.assertTrue((sim["id"] == numpy.arange(n)).all())
            self.assertEqual(sim["object"].dtype, numpy.uint32)

    def test_rows_and_out(self):
        sim = firn.Simulation(BLOCK)
        whole = sim["position"]
        self.assertTrue((sim.read("position", 5, 7) == whole[5:12]).all())
        self.assertTrue((sim.read("position", 5) == whole[5:]).all())
        out = numpy.zeros_like(whole)
        self.assertIs(sim.read("position", out=out), out)
        self.assertTrue((out == whole).all())
        for bad in (out[:-1], out.astype(numpy.float32), numpy.asfortranarray(out), numpy.zeros((len(sim), 4))[:, ::2]):
            with self.assertRaisesRegex(ValueError, "out: a writable float64 array"):
                sim.read("position", out=bad)
        with self.assertRaises(firn.Error):
            sim.read("position", 1, len(sim))
        with self.assertRaises(KeyError):
            sim["temperature"]

    def test_from_arrays_goes_on_like_the_original(self):
        sim = firn.Simulation(BLOCK)
        sim.step(30)
        arrays = {name: sim[name] for name in [*STATE, "id", "object"] if name != "B"}
        again = firn.Simulation(firn.Scene.parse(BLOCK, {"simulation.rest_volume": "sampled"}), particles=arrays)
        for name in STATE:
            self.assertTrue((again[name] == sim[name]).all(), name)
        self.assertEqual(again.steps, 0)

    def test_from_few_arrays(self):
        grid = numpy.mgrid[0:4, 1:5].reshape(2, -1).T * 0.01
        sim = firn.Simulation(BLOCK, particles={"position": grid, "mass": 0.04, "volume": 1e-4, "velocity": [1, 0]})
        self.assertEqual(len(sim), 16)
        self.assertTrue((sim["velocity"] == [1, 0]).all())
        self.assertTrue((sim["mass"] == numpy.float32(0.04)).all())
        self.assertTrue((sim["J_P"] == 1).all())
        sim.step()
        lists = firn.Simulation(BLOCK, particles={"position": grid.tolist(), "mass": [0.04] * 16, "volume": 1e-4})
        self.assertTrue((lists["position"] == firn.Simulation(
            BLOCK, particles={"position": grid.astype(float), "mass": 0.04, "volume": 1e-4})["position"]).all())

    def test_no_particles(self):
        sim = firn.Simulation(BLOCK, particles={"position": numpy.zeros((0, 2)), "mass": [], "volume": []})
        sim.advance()
        self.assertEqual(sim["position"].shape, (0, 2))
        self.assertEqual(sim["id"].shape, (0,))

    def test_bad_arrays(self):
        good = {"position": numpy.zeros((3, 2)), "mass": 1, "volume": 1}
        for change, error, words in (
            ({"colour": 1}, TypeError, "no 'colour'"),
            ({"position": numpy.zeros((3, 3))}, ValueError, r"position: shape \(3, 3\) does not fit \(3, 2\)"),
            ({"mass": [1, 2]}, ValueError, "mass"),
            ({"mass": -1}, firn.Error, "mass is -1"),
            ({"position": numpy.full((3, 2), numpy.nan)}, firn.Error, "finite"),
            ({"id": [1, 1, 2]}, firn.Error, "ids must increase"),
        ):
            with self.assertRaisesRegex(error, words):
                firn.Simulation(BLOCK, particles=good | change)
        with self.assertRaisesRegex(TypeError, "need a position"):
            firn.Simulation(BLOCK, particles={"mass": 1})
        with self.assertRaisesRegex(firn.Error, "position, mass and volume"):
            firn.Simulation(BLOCK, particles={"position": numpy.zeros((3, 2))})
        with self.assertRaisesRegex(TypeError, "not both"):
            firn.Simulation(BLOCK, particles=good, checkpoint="x.h5")

    def test_change_under_way(self):
        sim, plain = firn.Simulation(BLOCK), firn.Simulation(BLOCK)
        for s in (sim, plain):
            s.step(20)
        sim.write(position=sim["position"], J_P=sim["J_P"])
        for s in (sim, plain):
            s.step(5)
        self.assertTrue((sim["F_E"] == plain["F_E"]).all())
        sim["velocity"] = [3, 0]
        self.assertTrue((sim["velocity"] == [3, 0]).all())
        self.assertEqual(sim.steps, 25)
        with self.assertRaisesRegex(firn.Error, "J_P is 0"):
            sim["J_P"] = 0
        with self.assertRaisesRegex(firn.Error, "whose ids stay"):
            sim["id"] = sim["id"]

    def test_arrays_outlive_the_simulation(self):
        sim = firn.Simulation(BLOCK)
        ids, x = sim["id"], sim["position"]
        before = x.sum()
        del sim
        gc.collect()
        self.assertEqual(x.sum(), before)
        self.assertEqual(ids.sum(), len(x) * (len(x) - 1) // 2)


class Knowing(Case):
    def test_stats(self):
        sim = firn.Simulation(BALL, backend="ref")
        sim.step(5)
        stats = sim.stats()
        self.assertEqual(stats.particles, len(sim))
        self.assertAlmostEqual(stats.mass, sim["mass"].sum(), delta=1e-12 * stats.mass)
        momentum = (sim["mass"][:, None] * sim["velocity"]).sum(axis=0)
        self.assertTrue(numpy.allclose(stats.momentum, momentum, rtol=1e-12, atol=1e-15))
        self.assertAlmostEqual(stats.max_speed, numpy.linalg.norm(sim["velocity"], axis=1).max(), delta=1e-12)
        self.assertEqual((stats.J_P_min, stats.J_P_max), (sim["J_P"].min(), sim["J_P"].max()))

    def test_progress(self):
        sim = firn.Simulation(BLOCK)
        sim.step(3)
        progress = sim.progress()
        self.assertEqual(progress.steps, 3)
        self.assertLessEqual({"sort", "p2g", "grid", "solve", "g2p"}, set(progress.stage_ms))
        self.assertGreater(progress.stage_ms["p2g"], 0)
        self.assertTrue(0 < progress.dt_min <= progress.dt_max)
        sim.reset_progress()
        self.assertEqual(sim.progress().steps, 0)

    def test_frames_and_time(self):
        sim = firn.Simulation(BLOCK)
        self.assertEqual((sim.frame, sim.time, sim.steps), (0, 0, 0))
        self.assertTrue(sim.advance())
        self.assertEqual((sim.frame, sim.time), (1, 1 / 240))
        self.assertEqual(list(sim.run(frames=3)), [2, 3])
        self.assertIn("frame 3", repr(sim))

    def test_blow_up(self):
        sim = firn.Simulation(firn.Scene.parse(BLOCK, {"simulation.time_step": 0.004, "simulation.retries": 0}))
        with self.assertRaises(firn.Error) as caught:
            sim.advance(4)
        self.assertIs(caught.exception.status, firn.Status.BLOWUP)
        self.assertIn("particle", str(caught.exception))
        self.assertEqual(len(sim["position"]), len(sim))
        with self.assertRaises(firn.Error):
            sim["velocity"] = [0, 0]


class Checkpoints(Case):
    def test_going_on_gives_the_same_bits(self):
        for backend in ("ref", "cpu"):
            whole = firn.Simulation(BLOCK, backend=backend)
            whole.advance(3)
            part = firn.Simulation(BLOCK, backend=backend)
            part.step(17)
            part.save(self.path("state.h5"))
            rest = firn.Simulation(BLOCK, checkpoint=self.path("state.h5"), backend=backend)
            self.assertEqual(rest.steps, 17)
            rest.advance(3)
            self.assertEqual(rest.time, whole.time)
            for name in STATE:
                self.assertTrue((rest[name] == whole[name]).all(), name)

    def test_the_program_goes_on(self):
        path = self.write("block.yaml", json.dumps(BLOCK))
        sim = firn.Simulation(path, backend="cpu")
        sim.step(17)
        sim.save(self.path("state.h5"))
        self.program("run", path, "-o", "rest", "--resume", "state.h5", "--backend", "cpu", "-q")
        list(sim.run())
        with h5py.File(self.path("rest", "checkpoint.h5")) as file:
            self.assertTrue((file["particles/position"][...] == sim["position"]).all())

    def test_failures(self):
        sim = firn.Simulation(BLOCK)
        with self.assertRaises(firn.Error) as caught:
            sim.save(self.path("none", "state.h5"))
        self.assertIs(caught.exception.status, firn.Status.NO_OUTPUT)
        with self.assertRaises(firn.Error) as caught:
            firn.Simulation(BLOCK, checkpoint=self.path("none.h5"))
        self.assertIs(caught.exception.status, firn.Status.NO_INPUT)
        sim.save(self.path("state.h5"))
        with self.assertRaisesRegex(firn.Error, "holds a 2D state"):
            firn.Simulation(BALL, checkpoint=self.path("state.h5"))

    def test_a_warning_is_logged(self):
        sim = firn.Simulation(BLOCK)
        sim.advance(2)
        sim.save(self.path("state.h5"))
        with self.assertLogs("firn", "WARNING") as caught:
            firn.Simulation(firn.Scene.parse(BLOCK, {"simulation.fps": 24}), checkpoint=self.path("state.h5"))
        self.assertIn("24 frames a second", caught.output[0])


INTERRUPTED = """
import sys, firn
sim = firn.Simulation(sys.argv[1], backend="ref")
caught = 0
print("ready", flush=True)
while sim.frame < 3:
    try:
        sim.advance()
    except KeyboardInterrupt:
        caught += 1
        print("stopped at", sim.frame, sim.steps, flush=True)
sim.save(sys.argv[2])
print("caught", caught)
"""


class Stopping(Case):
    def test_ctrl_c_between_steps(self):
        scene = json.loads(json.dumps(BLOCK))
        scene["simulation"]["cell_size"] = 0.01
        path = self.write("block.yaml", json.dumps(scene))
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", INTERRUPTED, path, self.path("end.h5")], stdout=subprocess.PIPE, text=True
        )
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        self.assertRegex(process.stdout.readline(), r"^stopped at [012] \d+\n")
        self.assertEqual(process.communicate()[0], "caught 1\n")
        self.assertEqual(process.returncode, 0)
        plain = firn.Simulation(path, backend="ref")
        plain.advance(3)
        again = firn.Simulation(path, backend="ref", checkpoint=self.path("end.h5"))
        for name in STATE:
            self.assertTrue((again[name] == plain[name]).all(), name)

    def test_stop_function(self):
        sim = firn.Simulation(BLOCK)
        asked = []
        self.assertFalse(sim.advance(5, stop=lambda s: asked.append(s.steps) or s.steps >= 4))
        self.assertEqual(asked, [0, 1, 2, 3, 4])
        self.assertEqual(sim.steps, 4)
        self.assertTrue(sim.advance())
        self.assertEqual(sim.frame, 1)


class Lifetime(Case):
    def test_closed(self):
        with firn.Simulation(BLOCK) as sim:
            sim.step()
            x = sim["position"]
        sim.close()
        for use in (sim.step, sim.stats, sim.progress, sim.reset_progress, lambda: sim["id"], lambda: sim["position"],
                    lambda: len(sim), lambda: sim.time, lambda: sim.save("x.h5"), lambda: sim.write(J_P=1),
                    lambda: sim.write_frame("x.ply")):
            with self.assertRaisesRegex(ValueError, "this Simulation is closed"):
                use()
        self.assertIn("closed", repr(sim))
        self.assertGreater(abs(x).sum(), 0)

    def test_two_threads_take_turns(self):
        sim, plain = firn.Simulation(BLOCK), firn.Simulation(BLOCK)
        failures = []

        def work():
            try:
                for _ in range(20):
                    sim.step()
                    sim["position"].sum()
            except Exception as failure:
                failures.append(failure)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        plain.step(60)
        self.assertTrue((sim["position"] == plain["position"]).all())

    def test_a_failed_start_leaves_nothing(self):
        with self.assertRaises(firn.Error):
            firn.Simulation(firn.Scene.parse({"simulation": {"cell_size": 0.1}}))
        gc.collect()

    def test_end_of_the_interpreter(self):
        script = f"import firn\nsim = firn.Simulation({BLOCK!r}, threads=2)\nsim.step(3)\nx = sim['position']\n"
        out, err = self.python(script)
        self.assertEqual((out, err), ("", ""))


if __name__ == "__main__":
    main()
