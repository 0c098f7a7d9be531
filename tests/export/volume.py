"""VDB files, read by OpenVDB's own Python module and by vdb_print, against sums made by numpy; and those that
OpenVDB writes itself, drawn by `firn render`."""

import os
import re
import shutil
import subprocess
import unittest

import numpy

from harness import Case, main, snow

try:
    import pyopenvdb as vdb
except ImportError:
    vdb = None


def cubic(x):
    a = numpy.abs(x)
    inner, outer = a**3 / 2 - a**2 + 2 / 3, (2 - a) ** 3 / 6
    return numpy.where(a < 1, inner, numpy.where(a < 2, outer, 0))


def quadratic(x):
    a = numpy.abs(x)
    return numpy.where(a < 0.5, 0.75 - a**2, numpy.where(a < 1.5, (1.5 - a) ** 2 / 2, 0))


def node_sums(particles, h, kernel, values):
    """{node: sum_p w_ip values_p}: the definition, node by node, in double."""
    shape = {"cubic": cubic, "quadratic": quadratic}[kernel]
    x = particles["position"] / h
    d = x.shape[1]
    corner = numpy.floor(x).astype(numpy.int64)
    sums = {}
    for offset in numpy.ndindex(*(4,) * d):
        node = corner + numpy.array(offset) - 1
        weight = numpy.prod(shape(x - node), axis=1)
        for key, w, value in zip(map(tuple, node), weight, values):
            if w > 0:
                sums[key] = sums.get(key, 0) + w * value
    return sums


def grid_values(path, name):
    """{voxel: value} of the active voxels."""
    grid = vdb.read(path, name)
    found = {}
    for item in grid.citerOnValues():
        assert item.min == item.max, "an active tile"
        found[item.min] = item.value
    return found


@unittest.skipUnless(vdb, "python3-openvdb is not installed")
class Volume(Case):
    def assert_density(self, particles, h, kernel="cubic", name="state", scale=1.0):
        d = particles["position"].shape[1]
        mass = particles["mass"].astype(float)
        expected = node_sums(particles, h, kernel, mass / h**d)
        found = grid_values(self.path(f"{name}.vdb"), "density")
        if d == 2:
            expected = {(i, j, 0): value for (i, j), value in expected.items()}
        peak = max(expected.values(), default=0)
        for node, value in expected.items():
            if value < 1e-30 * peak:  # beneath what a float can hold
                found.pop(node, None)
                continue
            self.assertAlmostEqual(found.pop(node) / value, 1, delta=1e-6, msg=node)
        self.assertEqual(found, {})
        grid = vdb.read(self.path(f"{name}.vdb"), "density")
        self.assertAlmostEqual(grid.transform.voxelSize()[0], h * scale, delta=1e-12)
        self.assertEqual(grid.gridClass, "fog volume")
        if expected:
            world = grid.transform.indexToWorld((3, -4, 5))
            numpy.testing.assert_allclose(world, numpy.array([3, -4, 5]) * h * scale, rtol=1e-12)
        total = sum(value for value in grid_values(self.path(f"{name}.vdb"), "density").values()) * h**d
        self.assertAlmostEqual(total, mass.sum(), delta=3e-7 * mass.sum())

    def test_density(self):
        for kernel in ("cubic", "quadratic"):
            for d in (2, 3):
                particles = snow(400, d, radius=1.3)
                self.convert(self.checkpoint(particles, kernel=kernel), "--to", "vdb")
                self.assert_density(particles, 0.1, kernel)

    def test_shared_by_blocks(self):
        """Particles at the corners where eight blocks meet, on nodes and between, on both sides of 0."""
        at = [-8.5, -8.0, -7.5, -0.3, 0.0, 0.3, 7.0, 7.5, 8.0, 8.7, 16.0]
        grid = numpy.array(numpy.meshgrid(at, at, at)).reshape(3, -1).T
        particles = snow(len(grid))
        particles["position"] = grid * 0.25
        for kernel in ("cubic", "quadratic"):
            self.convert(self.checkpoint(particles, cell_size=0.25, kernel=kernel), "--to", "vdb")
            self.assert_density(particles, 0.25, kernel)

    def test_far_and_negative(self):
        for centre in ([-3, -40, 5], [1e4, -1e5, 9e5], [-1e6, 1e6, -1e6]):
            particles = snow(60, radius=0.04, centre=numpy.array(centre))
            self.convert(self.checkpoint(particles, cell_size=0.01), "--to", "vdb")
            self.assert_density(particles, 0.01)

    def test_too_far(self):
        particles = snow(3)
        particles["position"][1] = [0, 2e8, 0]
        _, err = self.firn("convert", self.checkpoint(particles), "--to", "vdb", code=65)
        self.assertIn("particle row 1", err)
        self.assertIn("state.vdb", err)

    def test_few(self):
        for count in (0, 1, 2):
            particles = snow(count)
            self.convert(self.checkpoint(particles), "--to", "vdb")
            self.assert_density(particles, 0.1)
            grids = [grid.name for grid in vdb.readAllGridMetadata(self.path("state.vdb"))]
            self.assertEqual(sorted(grids), ["density", "velocity"])

    def test_means(self):
        particles = snow(300)
        self.convert(self.checkpoint(particles), "--to", "vdb", "--grids", "velocity,J_P")
        mass = node_sums(particles, 0.1, "cubic", particles["mass"].astype(float))
        for name, attribute in (("velocity", "velocity"), ("J_P", "J_P")):
            momentum = (particles["mass"].astype(float) * particles[attribute].astype(float).T).T
            sums = node_sums(particles, 0.1, "cubic", momentum)
            found = grid_values(self.path("state.vdb"), name)
            self.assertEqual(found.keys() <= mass.keys(), True)
            for node, value in found.items():
                numpy.testing.assert_allclose(value, sums[node] / mass[node], rtol=2e-6, atol=1e-5)
        grids = {grid.name: grid for grid in vdb.readAllGridMetadata(self.path("state.vdb"))}
        self.assertEqual(sorted(grids), ["J_P", "velocity"])
        self.assertEqual(grids["velocity"].vectorType, "contravariant relative")

    def test_stress(self):
        """P F^T / det F J_P with P from the polar decomposition, computed by numpy, and its means."""
        for d in (3, 2):
            particles = snow(150, d)
            F = numpy.tile(numpy.eye(3), (150, 1, 1))
            F[:, :d, :d] = particles["F_E"]
            J_P = particles["J_P"].astype(float)
            U, s, V = numpy.linalg.svd(F)
            R, J = U @ V, numpy.prod(s, axis=1)
            hard = numpy.exp(particles["hardening"].astype(float) * (1 - J_P))
            mu, lam = particles["mu0"] * hard, particles["lambda0"] * hard
            cof = J[:, None, None] * numpy.linalg.inv(F).transpose(0, 2, 1)
            P = 2 * mu[:, None, None] * (F - R) + (lam * (J - 1))[:, None, None] * cof
            sigma = P @ F.transpose(0, 2, 1) / (J * J_P)[:, None, None]
            self.convert(self.checkpoint(particles), "--to", "vdb", "--grids", "stress", "--grid-type", "half")
            mass = particles["mass"].astype(float)
            sums = node_sums(particles, 0.1, "cubic", mass)
            for name, rows in (("stress", [(0, 0), (1, 1), (2, 2)]), ("shear", [(0, 1), (1, 2), (0, 2)])):
                six = numpy.stack([sigma[:, a, b] for a, b in rows], axis=1)
                expected = node_sums(particles, 0.1, "cubic", mass[:, None] * six)
                found = grid_values(self.path("state.vdb"), name)
                self.assertGreater(len(found), 100)
                for node, value in found.items():
                    key = node[:d]
                    numpy.testing.assert_allclose(value, expected[key] / sums[key], rtol=1e-4, atol=1)

    def block(self):
        """A full block of snow, cells -10 to 10 along x, -6 to 6 along y and z, 8 particles a cell."""
        axes = [numpy.arange(-n + 0.25, n, 0.5) for n in (10, 6, 6)]
        lattice = numpy.array(numpy.meshgrid(*axes, indexing="ij")).reshape(3, -1).T
        particles = snow(len(lattice))
        particles["position"] = 0.1 * lattice + [3, 0, 0]
        particles["mass"][:] = 0.05
        return particles

    def test_surface(self):
        for kernel in ("cubic", "quadratic"):
            self.convert(self.checkpoint(self.block(), kernel=kernel), "--to", "vdb", "--grids", "surface")
            grid = vdb.read(self.path("state.vdb"), "surface")
            self.assertEqual(grid.gridClass, "level set")
            self.assertAlmostEqual(grid.background, 0.3, delta=1e-6)
            at = grid.getAccessor()
            self.assertLess(at.getValue((30, 0, 0)), 0)  # the middle
            self.assertAlmostEqual(at.getValue((30, 0, 0)), -0.3, delta=1e-6)
            self.assertAlmostEqual(at.getValue((30, 100, 0)), 0.3, delta=1e-6)
            for distance in (-2, -1, 0, 1, 2):  # along the middle of three faces
                for node in ((40 + distance, 0, 0), (30, 6 + distance, 0), (30, 0, -6 - distance)):
                    self.assertAlmostEqual(at.getValue(node) / 0.1, distance, delta=0.06)
            points, quads = grid.convertToQuads()
            self.assertGreater(len(quads), 1000)
            inside = numpy.abs(points - [3, 0, 0]) - 0.1 * numpy.array([10, 6, 6])
            self.assertLess(numpy.max(inside), 0.006)
            self.assertGreater(numpy.min(numpy.max(inside, axis=1)), -0.1)  # corners are round

    def test_surface_of_little(self):
        self.convert(self.checkpoint(snow(0)), "--to", "vdb", "--grids", "density,surface")
        self.assertTrue(vdb.read(self.path("state.vdb"), "surface").empty())
        one = snow(1)
        one["position"][:] = 0.3  # on a node
        self.convert(self.checkpoint(one), "--to", "vdb", "--grids", "surface")
        at = vdb.read(self.path("state.vdb"), "surface").getAccessor()
        self.assertLess(at.getValue((3, 3, 3)), 0)
        self.assertGreater(at.getValue((4, 3, 3)), 0)
        _, err = self.firn("convert", self.checkpoint(snow(9, 2)), "--to", "vdb", "--grids", "surface", code=65)
        self.assertIn("2D frame has no surface", err)

    def test_half_and_compression(self):
        particles = snow(40000, radius=1.5, centre=2)
        mass = particles["mass"].astype(float).sum()
        sizes = {}
        for options in ([], ["--grid-type", "half"], ["--compression", "zip"], ["--compression", "none"]):
            self.convert(self.checkpoint(particles), "--to", "vdb", *options)
            total = sum(grid_values(self.path("state.vdb"), "density").values()) * 0.1**3
            self.assertAlmostEqual(total / mass, 1, delta=1e-3 if options[-1:] == ["half"] else 3e-7)
            with open(self.path("state.vdb"), "rb") as file:
                sizes[" ".join(options)] = len(file.read())
        plain = sizes[""]
        self.assertLess(sizes["--grid-type half"], 0.7 * plain)
        self.assertLess(plain, sizes["--compression none"])
        self.assertLess(sizes["--compression zip"], sizes["--compression none"])

    def test_up_and_scale(self):
        particles = snow(200)
        turned = dict(particles)
        x, y, z = particles["position"].T
        turned["position"] = numpy.stack([x, -z, y], axis=1)
        self.convert(self.checkpoint(particles), "--to", "vdb", "--up", "z", "--scale", 100)
        self.assert_density(turned, 0.1, scale=100.0)
        faster = dict(particles, velocity=numpy.tile(numpy.float32([1, 2, 3]), (200, 1)))
        self.convert(self.checkpoint(faster), "--to", "vdb", "--up", "z", "--scale", 100)
        for value in grid_values(self.path("state.vdb"), "velocity").values():
            numpy.testing.assert_allclose(value, [100, -300, 200], rtol=1e-5)
        flat = snow(100, 2)
        self.convert(self.checkpoint(flat), "--to", "vdb", "--up", "z")
        self.assertEqual({j for _, j, _ in grid_values(self.path("state.vdb"), "density")}, {0})

    def test_same_bytes(self):
        """Whatever the number of threads, and every time."""
        particles = snow(20000)
        files = []
        for threads in (1, 2, 3, 7, 2):
            self.convert(self.checkpoint(particles), "--to", "vdb", "--threads", threads)
            with open(self.path("state.vdb"), "rb") as file:
                files.append(file.read())
        self.assertEqual(len(set(files)), 1)

    def test_vdb_print(self):
        if not shutil.which("vdb_print"):
            self.skipTest("libopenvdb-tools is not installed")
        self.convert(self.checkpoint(snow(500)), "--to", "vdb")
        out = subprocess.run(["vdb_print", "-l", self.path("state.vdb")], capture_output=True,
                             text=True, check=True).stdout
        self.assertRegex(out, r"(?s)creator: Firn.*frame: 7.*time: 0.25")
        self.assertRegex(out, r"(?s)Name: density.*class: fog volume.*Name: velocity")
        self.assertIn("blosc + active values", out)
        self.assertRegex(out, re.escape("voxel size: 0.1"))


@unittest.skipUnless(vdb and shutil.which("ffmpeg"), "python3-openvdb or ffmpeg is not installed")
class Drawn(Case):
    """`firn render FILE.vdb`."""

    VIEW = ("--size", "64x48", "--position", "0.05,0.3,1", "--target", "0,0,0", "--view", 30, "--sun", 35,
            "--set", "render.precision=float", "-q")

    def write(self, name, *grids, **meta):
        vdb.write(self.path(name), grids=grids, metadata=meta)
        return name

    def light(self, source, *options, samples=48):
        self.firn("render", source, "-o", "x.exr", "--samples", samples, *self.VIEW, *options)
        out = subprocess.run(["ffmpeg", "-loglevel", "error", "-i", self.path("x.exr"), "-f", "rawvideo", "-pix_fmt",
                              "gbrapf32le", "-"], capture_output=True, check=True).stdout
        return numpy.frombuffer(out, numpy.float32).reshape(4, 48, 64)[[2, 0, 1, 3]].transpose(1, 2, 0)

    def fog(self, h=0.02, offset=(0.0, 0.0, 0.0), density=400.0, name="density"):
        """A ball of 0.15 m at the origin on a grid whose node 0 lies at `offset`."""
        grid = vdb.FloatGrid(0.0)
        grid.transform = vdb.createLinearTransform(h)
        grid.transform.translate(offset)
        reach = int(0.2 / h) + 2
        at = numpy.arange(-reach, reach + 1)
        x, y, z = numpy.meshgrid(*(h * at + o for o in offset), indexing="ij")
        inside = numpy.clip((0.15 - numpy.sqrt(x**2 + y**2 + z**2)) / h + 0.5, 0, 1)
        grid.copyFromArray(density * inside, ijk=(-reach,) * 3)
        grid.name, grid.gridClass = name, "fog volume"
        return grid

    def assert_same_light(self, a, b, tolerance=0.03):
        """Over the picture's quarters, and the snow's outline."""
        self.assertLess(abs(a[..., 3].mean() - b[..., 3].mean()), 0.01)
        for rows in (slice(0, 24), slice(24, 48)):
            for columns in (slice(0, 32), slice(32, 64)):
                p, q = (c[rows, columns, :3].mean(axis=(0, 1)) for c in (a, b))
                numpy.testing.assert_allclose(p, q, rtol=tolerance)

    def test_same_as_its_particles(self):
        r = numpy.random.default_rng(5)
        particles = snow(20000)
        directions = r.normal(size=(20000, 3))
        directions /= numpy.linalg.norm(directions, axis=1)[:, None]
        particles["position"] = 0.15 * directions * r.uniform(0, 1, (20000, 1)) ** (1 / 3)
        particles["mass"][:] = 400 * 4 / 3 * numpy.pi * 0.15**3 / 20000
        state = self.checkpoint(particles, cell_size=0.02)
        self.convert(state, "--to", "vdb")
        plain = ("--set", "render.snow.voxel_size=0.02", "--set", "render.snow.grains=1")
        self.assert_same_light(self.light(state, *plain), self.light("state.vdb"))

    def test_of_other_programs(self):
        """Wherever its grid lies; by name or class; density without units; level sets."""
        first = self.light(self.write("a.vdb", self.fog()))
        self.assertGreater(first[20:28, 28:36, 3].min(), 0.99)
        self.assertLess(first[:4, :4, 3].max(), 0.01)
        self.assert_same_light(first, self.light(self.write("b.vdb", self.fog(offset=(0.013, -0.007, 0.005)))))
        other, empty = self.fog(name="dust"), vdb.FloatGrid(0.0)
        empty.name = "nothing"
        self.assert_same_light(first, self.light(self.write("c.vdb", empty, other)))
        both = self.write("d.vdb", self.fog(density=0.001), other)
        self.assert_same_light(first, self.light(both, "--grid", "dust"))
        self.assertLess(self.light(both)[20:28, 28:36, 3].max(), 0.9)
        unit = self.write("e.vdb", self.fog(density=1.0))
        self.assert_same_light(first, self.light(unit, "--set", "render.snow.reference_density=1"))
        ball = vdb.createLevelSetSphere(radius=0.15, center=(0, 0, 0), voxelSize=0.005, halfWidth=3)
        ball.name = "surface"
        fine = self.light(self.write("fine.vdb", self.fog(0.005)))
        self.assert_same_light(fine, self.light(self.write("f.vdb", ball)), 0.05)

    def test_tiles(self):
        """Active tiles, OpenVDB's large cubes of one value, are snow too."""
        grid = vdb.FloatGrid(0.0)
        grid.transform = vdb.createLinearTransform(0.01)
        grid.fill((-12, -12, -12), (12, 12, 12), 400.0)
        grid.name = "density"
        filled = self.light(self.write("a.vdb", grid))
        grid.prune()
        self.assert_same_light(filled, self.light(self.write("b.vdb", grid)))

    def test_films_previews_and_folders(self):
        os.mkdir(self.path("run"))
        for number in (1, 2):
            self.write(f"smoke.{number:04}.vdb", self.fog(0.03))
            self.write(f"run/frame_{number:04}.vdb", self.fog(0.03))
        small = ("--size", "32x24", "--samples", 1, "-q")
        self.firn("render", "smoke.0001.vdb", "smoke.0002.vdb", "-o", "p_###.png", *small)
        self.firn("render", "run", "-o", "q_###.png", *small)
        for name in ("p_001.png", "p_002.png", "q_001.png", "q_002.png"):
            self.assertTrue(os.path.exists(self.path(name)), name)
        self.firn("render", "smoke.0001.vdb", "--preview", "-o", "look.png")
        _, err = self.firn("render", "smoke.0001.vdb", "--preview", "--colour", "speed", "-o", "no.png", code=2)
        self.assertIn("speed", err)

    def test_what_cannot_be_drawn(self):
        def refuse(path, *words, options=(), code=65):
            _, err = self.firn("render", path, "-o", "no.png", *self.VIEW, *options, code=code)
            for word in words:
                self.assertIn(word, err)
            self.assertFalse(os.path.exists(self.path("no.png")))

        refuse("missing.vdb", "missing.vdb", code=66)
        with open(self.path("noise.vdb"), "wb") as file:
            file.write(b"not a volume" * 100)
        refuse("noise.vdb", "noise.vdb")
        whole = self.write("a.vdb", self.fog())
        with open(self.path(whole), "rb") as file, open(self.path("cut.vdb"), "wb") as out:
            out.write(file.read()[:3000])
        refuse("cut.vdb", "cut.vdb")
        refuse(whole, "no grid 'x'", "density", options=("--grid", "x"))
        refuse(whole, "motion blur", options=("--shutter", 0.5))
        empty = vdb.FloatGrid(0.0)
        empty.name = "density"
        refuse(self.write("empty.vdb", empty), "nothing to show")
        flat = self.fog()
        flat.transform = vdb.createLinearTransform([[0.02, 0, 0, 0], [0, 0.01, 0, 0], [0, 0, 0.02, 0], [0, 0, 0, 1]])
        refuse(self.write("flat.vdb", flat), "not cubes")
        vectors = vdb.Vec3SGrid((0, 0, 0))
        vectors.name = "v"
        refuse(self.write("v.vdb", vectors), "no grid of float numbers", "v")
        broken = self.fog()
        broken.fill((-20, -20, -20), (20, 20, 20), float("nan"))
        refuse(self.write("nan.vdb", broken), "not finite")


if __name__ == "__main__":
    main()
