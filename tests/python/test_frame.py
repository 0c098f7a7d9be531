"""Frames: written in every format, read back on the library's own memory, and drawn."""

import gc
import json
import resource
import weakref

import firn
import numpy
from harness import BALL, BLOCK, Case, main


class Files(Case):
    def setUp(self):
        super().setUp()
        self.sim = firn.Simulation(BLOCK)
        self.sim.advance(2)

    def test_round_trip(self):
        self.sim.write_frame(self.path("a.hdf"))
        frame = firn.read_frame(self.path("a.hdf"))
        self.assertEqual((frame.count, len(frame), frame.dimensions), (len(self.sim), len(self.sim), 2))
        self.assertEqual((frame.frame, frame.time, frame.step), (2, self.sim.time, self.sim.steps))
        self.assertEqual(frame.cell_size, 0.02)
        for name in ("position", "velocity"):
            self.assertEqual(frame[name].shape, (len(frame), 3))
            self.assertTrue((frame[name][:, :2] == self.sim[name].astype(numpy.float32)).all())
            self.assertTrue((frame[name][:, 2] == 0).all())
        for name in ("mass", "density", "J_P"):
            self.assertTrue((frame[name] == self.sim[name].astype(numpy.float32)).all(), name)
        self.assertTrue((frame.id == self.sim["id"]).all())
        self.assertIs(frame["J_P"], frame.J_P)
        self.assertIn("frame 2", repr(frame))

    def test_checkpoint_as_frame(self):
        self.sim.save(self.path("a.h5"))
        self.assertTrue((firn.read_frame(self.path("a.h5")).J_P == self.sim["J_P"].astype(numpy.float32)).all())
        info = firn.read_checkpoint_info(self.path("a.h5"))
        self.assertEqual((info.frame, info.step, info.particles), (2, self.sim.steps, len(self.sim)))
        self.assertEqual((info.kernel, info.transfer, info.backend), ("cubic", "flip", self.sim.backend))
        self.assertEqual(info.fingerprint, firn.Scene.parse(BLOCK).fingerprint)

    def test_frames_of_a_run(self):
        path = self.write("block.yaml", json.dumps(BLOCK))
        self.program("run", path, "-o", "out", "-q")
        frames = [firn.read_frame(self.path("out", f"frame_{k:04}.hdf")) for k in range(5)]
        self.assertEqual([frame.frame for frame in frames], [0, 1, 2, 3, 4])
        self.assertTrue((frames[2].position[:, :2] == self.sim["position"].astype(numpy.float32)).all())

    def test_every_format(self):
        for name in firn.formats:
            with self.subTest(name):
                self.sim.write_frame(self.path(name), format=name)
                self.sim.write_frame(self.path(name.upper()), format=name.upper())
                with open(self.path(name), "rb") as one, open(self.path(name.upper()), "rb") as other:
                    self.assertEqual(len(one.read()), len(other.read()))

    def test_failures(self):
        for write, error, words in (
            (lambda: self.sim.write_frame(self.path("a.doc")), ValueError, "no format has the extension 'doc', only: .*hdf"),
            (lambda: self.sim.write_frame(self.path("a.hdf"), format="doc"), ValueError, "'doc' is none of: vtkhdf"),
            (lambda: self.sim.write_frame(self.path("none", "a.hdf")), firn.Error, "none"),
            (lambda: firn.read_frame(self.path("none.hdf")), firn.Error, "No such file"),
            (lambda: firn.read_frame(self.write("text.hdf", "text")), firn.Error, "text.hdf"),
        ):
            with self.assertRaisesRegex(error, words):
                write()


class Memory(Case):
    def setUp(self):
        super().setUp()
        firn.Simulation(BALL).write_frame(self.path("a.hdf"))

    def test_arrays_keep_the_memory(self):
        frame = firn.read_frame(self.path("a.hdf"))
        position, gone = frame.position, weakref.ref(frame._owner)
        before = position.copy()
        rows = position[3:9, 1]
        del frame, position
        gc.collect()
        others = [firn.read_frame(self.path("a.hdf")) for _ in range(5)]
        self.assertIsNotNone(gone())
        self.assertTrue((rows == before[3:9, 1]).all())
        del rows
        gc.collect()
        self.assertIsNone(gone())
        self.assertTrue(others)

    def test_arrays_are_views(self):
        frame = firn.read_frame(self.path("a.hdf"))
        self.assertFalse(frame.position.flags.owndata)
        frame.velocity[0] = 7
        self.assertEqual(frame._raw.velocity[1], 7)

    def test_memory_is_given_back(self):
        big = firn.Simulation(BALL, particles={"position": numpy.zeros((200_000, 3)), "mass": 1, "volume": 1})
        big.write_frame(self.path("big.hdf"))
        del big
        firn.read_frame(self.path("big.hdf"))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(20):
            firn.read_frame(self.path("big.hdf"))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 40_000, "kilobytes; twenty frames of ten megabytes")


class Pictures(Case):
    def test_preview(self):
        sim = firn.Simulation(BLOCK)
        for k in range(2):
            sim.write_frame(self.path(f"{k}.hdf"))
            sim.advance()
        frames = [firn.read_frame(self.path("0.hdf")), self.path("1.hdf")]
        for colour in firn.colours:
            firn.preview(frames, self.path("a.png"), scene=BLOCK, colour=colour, width=64, height=48, columns=2)
            with open(self.path("a.png"), "rb") as file:
                head = file.read(24)
            self.assertEqual(head[:8], b"\x89PNG\r\n\x1a\n")
        firn.preview(frames[0], self.path("b.png"), scene=BLOCK, width=64, height=48)
        with self.assertRaisesRegex(ValueError, "'heat' is none of: snow"):
            firn.preview(frames, self.path("a.png"), colour="heat")
        with self.assertRaises(firn.Error):
            firn.preview(frames, self.path("none", "a.png"))


if __name__ == "__main__":
    main()
