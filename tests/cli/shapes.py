"""Shapes from files, good ones by foreign writers and bad ones: what `firn check` says, and its exit code."""

import os
import struct
import zlib

import h5py
import numpy

from harness import SPACE, Case, main, particles

try:
    import pyopenvdb
except ImportError:
    pyopenvdb = None

TETRA = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
GRID = "ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 0.5\n"
CONTENT, MISSING = 65, 66


def png(values):
    """A grey PNG of 16 bits, written by hand."""
    rows, columns = values.shape

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    lines = b"".join(b"\0" + row.astype(">u2").tobytes() for row in values)
    head = struct.pack(">IIBBBBB", columns, rows, 16, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


class Shapes(Case):
    def check(self, shape, code=0, kind="snow", cell=0.1):
        """What `firn check` says of a scene with this shape."""
        text = f"simulation: {{cell_size: {cell}}}\n"
        if kind == "colliders":
            text += "snow: [{shape: {sphere: {center: [0, 9, 0], radius: 0.5}}}]\n"
        scene = self.write("scene.yaml", text + f"{kind}: [{{shape: {shape}}}]\n")
        out, err = self.firn("check", scene, code=code)
        return out if code == 0 else err

    def bytes(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def refuse(self, name, data, words, code=CONTENT, kind="mesh", more=""):
        """A bad file is refused as snow and as a collider, by name, where the scene asks for it."""
        if data is not None:
            self.bytes(name, data if isinstance(data, bytes) else data.encode())
        for use in ("snow", "colliders"):
            err = self.check(f"{{{kind}: {{file: {name}{more}}}}}", code, use)
            self.assertIn("scene.yaml:", err)
            self.assertIn(name, err)
            self.assertIn(words, err)

    def particles(self, out):
        return int(next(line for line in out.splitlines() if line.startswith("particles")).split()[1])


class Meshes(Shapes):
    def test_good(self):
        self.bytes("t.obj", TETRA.encode())
        count = self.particles(self.check("{mesh: {file: t.obj, scale: 2}}"))
        self.assertAlmostEqual(count, 8 * (8 / 6) / 0.1**3, delta=0.15 * count)

    def test_mass(self):
        """Volume times density within 1 %, however it is seeded."""
        self.bytes("t.obj", TETRA.encode())
        for method in ("poisson", "random", "lattice"):
            scene = self.write("mass.yaml", "simulation: {cell_size: 0.05, frames: 0}\n"
                               "materials: {light: {preset: snow, density: 300}}\n"
                               "snow: [{shape: {mesh: t.obj}, material: light,"
                               f" sampling: {{method: {method}}}}}]\n")
            self.firn("run", scene, "-o", self.path(method))
            mass = particles(self.path(method, "checkpoint.h5"), "mass").sum()
            self.assertAlmostEqual(mass / (300 / 6), 1, delta=0.01)

    def test_missing(self):
        self.refuse("none.obj", None, "No such file", MISSING)

    def test_no_triangles(self):
        self.refuse("points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n", "no triangles")
        self.refuse("empty.ply", "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\n"
                    "property float y\nproperty float z\nend_header\n", "no triangles")

    def test_not_finite(self):
        self.refuse("nan.obj", TETRA.replace("v 1 0 0", "v nan 0 0"), "nan.obj:2")
        nan = struct.pack(">4f", float("nan"), 0, 0, 0)[:12]
        head = b"OFF BINARY\n" + struct.pack(">3I", 3, 1, 0)
        face = struct.pack(">5I", 3, 0, 1, 2, 0)
        self.refuse("nan.off", head + nan + struct.pack(">6f", 1, 0, 0, 0, 1, 0) + face, "not finite")

    def test_index_out_of_range(self):
        self.refuse("index.obj", TETRA + "f 1 2 9\n", "index.obj:9")
        self.refuse("index.off", "OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n", "index.off:6")

    def test_open(self):
        self.refuse("open.obj", TETRA.replace("f 3 1 4\n", ""), "close: true")

    def test_not_manifold(self):
        self.refuse("three.obj", TETRA + "v 0 0 -1\nf 1 2 5\n", "1 non-manifold edges")

    def test_truncated(self):
        stl = b"x" * 80 + struct.pack("<I", 100) + b"\0" * 50
        self.refuse("cut.stl", stl, "cut.stl")
        self.refuse("cut.ply", "ply\nformat binary_little_endian 1.0\nelement vertex 4\n"
                    "property float x\nproperty float y\nproperty float z\nend_header\n\1\2", "cut.ply")

    def test_not_a_mesh(self):
        self.refuse("noise.bin", bytes(range(256)), "not a mesh")


class Volumes(Shapes):
    def setUp(self):
        super().setUp()
        if pyopenvdb is None:
            self.skipTest("python3-openvdb is not installed")

    def sphere(self, name):
        grid = pyopenvdb.createLevelSetSphere(radius=1.0, center=(0, 0, 0), voxelSize=0.05, halfWidth=3.0)
        grid.name = "surface"
        pyopenvdb.write(self.path(name), grids=[grid])

    def test_level_set(self):
        self.sphere("ball.vdb")
        count = self.particles(self.check("{vdb: ball.vdb}", cell=0.2))
        self.assertAlmostEqual(count, 8 * 4.18879 / 0.2**3, delta=0.05 * count)

    def test_fog(self):
        grid = pyopenvdb.FloatGrid()
        grid.name = "density"
        x = numpy.linspace(-1.2, 1.2, 49)
        r = numpy.sqrt(x[:, None, None] ** 2 + x[None, :, None] ** 2 + x[None, None, :] ** 2)
        grid.copyFromArray(numpy.clip(2 - 2 * r, 0, 1).astype(numpy.float32))
        grid.transform = pyopenvdb.createLinearTransform(voxelSize=0.05)
        grid.gridClass = pyopenvdb.GridClass.FOG_VOLUME
        pyopenvdb.write(self.path("fog.vdb"), grids=[grid])
        out = self.check("{vdb: {file: fog.vdb, iso: 0.5}}", cell=0.2)
        self.assertAlmostEqual(self.particles(out), 8 * 4.18879 * 0.75**3 / 0.2**3, delta=0.06 * 8 * 221)

    def test_bad(self):
        self.refuse("none.vdb", None, "No such file", MISSING, "vdb")
        self.refuse("noise.vdb", bytes(range(256)) * 8, "noise.vdb", kind="vdb")
        self.sphere("ball.vdb")
        with open(self.path("ball.vdb"), "rb") as file:
            data = file.read()
        self.refuse("cut.vdb", data[: len(data) // 2], "cut.vdb", kind="vdb")
        self.refuse("ball.vdb", None, "surface", kind="vdb", more=", grid: other")


class Sequences(Shapes):
    """Bodies that deform, as the program meets them."""

    def frame(self, number, text):
        self.bytes(f"t_{number:04d}.obj", text.encode())

    def deform(self, more="", code=0):
        scene = self.write("scene.yaml", "simulation: {cell_size: 0.1}\nsnow: [{shape: {sphere: {center: [0, 9, 0],"
                           " radius: 0.5}}}]\ncolliders: [{deform: {file: t_####.obj" + more + "}}]\n")
        return self.firn("check", scene, code=code)[1]

    def setUp(self):
        super().setUp()
        if "OpenVDB: none" in self.firn("--version")[0]:
            self.skipTest("built without OpenVDB")
        self.frame(1, TETRA)
        self.frame(2, TETRA.replace("v 1 0 0", "v 1.2 0 0"))

    def test_good(self):
        self.deform()

    def test_missing(self):
        self.assertIn("t_0003.obj: No such file", self.deform(", last: 3", MISSING).replace("cannot read ", ""))
        self.frame(4, TETRA)
        self.assertIn("t_0003.obj", self.deform("", MISSING))

    def test_other_topology(self):
        self.frame(3, TETRA + "v 9 9 9\n")
        self.assertIn("t_0003.obj: 5 vertices, but the first of the sequence has 4", self.deform("", CONTENT))
        self.frame(3, TETRA.replace("f 3 1 4", "f 3 4 1"))
        self.assertIn("t_0003.obj: other faces", self.deform("", CONTENT))

    def test_open(self):
        for number in (1, 2):
            self.frame(number, TETRA.replace("f 3 1 4\n", ""))
        self.assertIn("close: true", self.deform("", CONTENT))
        self.deform(", close: true")
        self.deform(", shell: 0.1")

    def test_cache(self):
        points = numpy.array([[line.split()[1:] for line in TETRA.splitlines() if line[0] == "v"]] * 2, "<f4")
        head = b"POINTCACHE2\0" + struct.pack("<iiffi", 1, 4, 0, 1, 2)
        self.bytes("t.pc2", head + points.tobytes())
        self.bytes("one.obj", TETRA.encode())
        text = "simulation: {cell_size: 0.1}\nsnow: [{shape: {sphere: {center: [0, 9, 0], radius: 0.5}}}]\n"
        text += "colliders: [{deform: {file: one.obj, cache: t.pc2}}]\n"
        scene = self.write("cache.yaml", text)
        self.firn("check", scene, code=0)
        self.bytes("t.pc2", head + points.tobytes()[:-4])
        self.assertIn("t.pc2: cut short", self.firn("check", scene, code=CONTENT)[1])
        os.remove(self.path("t.pc2"))
        self.assertIn("t.pc2", self.firn("check", scene, code=MISSING)[1])


class Terrain(Shapes):
    def test_grid(self):
        """Ground under a layer of 30 cm: its volume is thickness times area, whatever the slope."""
        n = numpy.arange(21)
        heights = 0.4 * n[None, :] * 0.5 + 0 * n[:, None]
        text = GRID.replace("3", "21") + "\n".join(" ".join(f"{v:g}" for v in row) for row in heights)
        self.bytes("slope.asc", text.encode())
        count = self.particles(self.check("{terrain: {file: slope.asc, thickness: 0.6}}", cell=0.25))
        self.assertAlmostEqual(count, 8 * 0.6 * 10 * 10 / 0.25**3, delta=0.03 * count)

    def test_picture(self):
        n = numpy.linspace(0, 1, 21)
        self.bytes("slope.png", png((n[None, :] * 65535 + 0 * n[:, None]).astype(int)))
        shape = "{terrain: {file: slope.png, scale: 0.5, height_scale: 4, thickness: 0.6}}"
        self.assertAlmostEqual(self.particles(self.check(shape, cell=0.25)), 30720, delta=900)
        self.check("{terrain: {file: slope.png, scale: 0.5, height_scale: 4}}", kind="colliders")

    def test_bad(self):
        self.refuse("none.asc", None, "No such file", MISSING, "terrain")
        self.refuse("cut.asc", GRID + "1 2 3\n4 5", "ends after 5 of 9 heights", kind="terrain")
        self.refuse("word.asc", GRID + "1 2 3\n4 x 6\n7 8 9\n", "word.asc:7", kind="terrain")
        self.refuse("noise.asc", bytes(range(1, 256)), "not an ESRI grid", kind="terrain")
        self.refuse("empty.asc", "", "empty.asc", kind="terrain")
        data = png(numpy.zeros((8, 8), int))
        self.refuse("cut.png", data[:60], "cut.png", kind="terrain")
        self.refuse("bits.png", data[:45] + b"\xff\xff" + data[47:], "bits.png", kind="terrain")
        self.refuse("far.asc", GRID.replace("xllcorner 0", "xllcorner 9e8") + "1 2 3 " * 3, "origin",
                    kind="terrain", more=", origin: [0, 0, 0]")


class Points(Shapes):
    """Particles by foreign writers, and by Firn itself, back as the snow of another scene."""

    def start_of(self, name, count):
        """The state at time 0 of a scene with these points as its snow."""
        text = "simulation: {cell_size: 0.1, frames: 0, rest_volume: sampled}\n"
        scene = self.write("points.yaml", text + f"snow: [{{points: {name}}}]\n")
        out = self.path(name + ".run")
        self.firn("run", scene, "-o", out)
        found = {key: particles(f"{out}/checkpoint.h5", key) for key in ("position", "velocity", "mass", "volume")}
        self.assertEqual(len(found["mass"]), count)
        return found

    def test_ply(self):
        rows = numpy.arange(40, dtype="<f4").reshape(5, 8) / 8 + 0.25
        names = ["x", "y", "z", "vx", "vy", "vz", "mass", "volume"]
        head = "ply\nformat binary_little_endian 1.0\nelement vertex 5\n"
        head += "".join(f"property float {name}\n" for name in names) + "end_header\n"
        self.bytes("five.ply", head.encode() + rows.tobytes())
        found = self.start_of("five.ply", 5)
        numpy.testing.assert_array_equal(found["position"], rows[:, :3])
        numpy.testing.assert_array_equal(found["velocity"], rows[:, 3:6])
        numpy.testing.assert_array_equal(found["mass"], rows[:, 6])
        numpy.testing.assert_array_equal(found["volume"], rows[:, 7])

    def test_vtkhdf(self):
        x = numpy.random.default_rng(1).random((50, 3))
        with h5py.File(self.path("cloud.hdf"), "w") as file:
            group = file.create_group("VTKHDF")
            group["Points"] = x
            group["PointData/velocity"] = (2 * x).astype("f4")
            group["PointData/label"] = numpy.arange(50)
        found = self.start_of("cloud.hdf", 50)
        numpy.testing.assert_array_equal(found["position"], x)
        numpy.testing.assert_allclose(found["velocity"], 2 * x, rtol=1e-6)
        numpy.testing.assert_allclose(found["volume"], 0.1**3 / 8)

    def test_frame_of_a_run(self):
        scene = self.write("ball.yaml", SPACE)
        self.firn("run", scene, "-o", self.path("ball"), "--frames", 1)
        with h5py.File(self.path("ball", "frame_0001.hdf"), "r") as file:
            x, v = file["VTKHDF/Points"][()], file["VTKHDF/PointData/velocity"][()]
        os.rename(self.path("ball", "frame_0001.hdf"), self.path("frame.hdf"))
        found = self.start_of("frame.hdf", len(x))
        numpy.testing.assert_array_equal(found["position"], x)
        numpy.testing.assert_array_equal(found["velocity"], v)

    def test_bad(self):
        for name, data, words, code in (
            ("none.ply", None, "No such file", MISSING),
            ("cut.ply", b"ply\nformat binary_little_endian 1.0\nelement vertex 9\nproperty float x\nend_header\n", "cut.ply", CONTENT),
            ("cut.hdf", b"\x89HDF\r\n\x1a\n" + bytes(90), "cut.hdf", CONTENT),
            ("word.csv", b"x,y,z\n1,2,abc\n", "word.csv:2", CONTENT),
        ):
            if data is not None:
                self.bytes(name, data)
            scene = self.write("bad.yaml", f"simulation: {{cell_size: 0.1}}\nsnow: [{{points: {name}}}]\n")
            _, err = self.firn("check", scene, code=code)
            self.assertIn("bad.yaml:2", err)
            self.assertIn(words, err)


class Text(Shapes):
    def test_bad_font(self):
        if "FreeType: none" in self.firn("--version")[0]:
            self.skipTest("built without FreeType")
        self.assertIn("No Such Font", self.check("{text: {text: A, size: 1, font: No Such Font}}", MISSING))
        self.bytes("noise.ttf", bytes(range(256)))
        err = self.check("{text: {text: A, size: 1, file: noise.ttf}}", CONTENT)
        self.assertIn("noise.ttf: not a font", err)


if __name__ == "__main__":
    main()
