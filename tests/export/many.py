"""Ten million particles in every format, each value read back by a reader that knows nothing of the writer."""

import os
import re
import unittest

import numpy

from harness import Case, main, snow
from particles import HAS_VTK, read_bgeo

try:
    import pyopenvdb as vdb
except ImportError:
    vdb = None
if HAS_VTK:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader
    from vtkmodules.vtkIOPLY import vtkPLYReader

COUNT = 10_000_000
CELL = 0.02


class Many(Case):
    @classmethod
    def setUpClass(cls):
        cls.particles = snow(COUNT, radius=1.0)

    def setUp(self):
        super().setUp()
        self.state = self.checkpoint(self.particles, cell_size=CELL)

    def to(self, name, *options):
        self.convert(self.state, "--to", name, "--attributes", "velocity,mass,J_P", *options)
        os.remove(self.state)

    def assert_values(self, **found):
        for name, values in found.items():
            numpy.testing.assert_array_equal(values, self.particles[name].astype(values.dtype), name)

    def vtk(self, reader, name):
        reader.SetFileName(self.path(name))
        reader.Update()
        self.assertEqual(reader.GetErrorCode(), 0)
        data = reader.GetOutput()
        point_data = data.GetPointData()
        arrays = {point_data.GetArrayName(k): vtk_to_numpy(point_data.GetArray(k))
                  for k in range(point_data.GetNumberOfArrays())}
        return vtk_to_numpy(data.GetPoints().GetData()), arrays

    @unittest.skipUnless(HAS_VTK, "python3-vtk9 is not installed")
    def test_vtkhdf(self):
        self.to("vtkhdf")
        position, arrays = self.vtk(vtkHDFReader(), "state.hdf")
        self.assert_values(position=position, **{k: arrays[k] for k in ("velocity", "mass", "J_P", "id", "object")})

    @unittest.skipUnless(HAS_VTK, "python3-vtk9 is not installed")
    def test_ply(self):
        self.to("ply")
        position, _ = self.vtk(vtkPLYReader(), "state.ply")
        self.assert_values(position=position)
        with open(self.path("state.ply"), "rb") as file:
            head = b"".join(iter(file.readline, b"end_header\n")).decode()
            kinds = {"float": "<f4", "uint": "<u4", "int": "<i4", "double": "<f8"}
            fields = [(name, kinds[kind]) for kind, name in re.findall(r"property (\w+) (\w+)", head)]
            table = numpy.fromfile(file, numpy.dtype(fields), COUNT)
            self.assertEqual(file.read(), b"")
        velocity = numpy.stack([table["vx"], table["vy"], table["vz"]], axis=1)
        self.assert_values(velocity=velocity, mass=table["mass"], id=table["id"])

    def test_bgeo(self):
        self.to("bgeo")
        table, _ = read_bgeo(self.path("state.bgeo"))
        self.assertEqual(len(table), COUNT)
        self.assert_values(position=table["P"][:, :3], velocity=table["v"], mass=table["mass"], J_P=table["Jp"],
                           id=table["id"])

    def test_npz(self):
        self.to("npz")
        with numpy.load(self.path("state.npz")) as found:
            for name in ("position", "velocity", "mass", "J_P", "id", "object"):
                self.assert_values(**{name: found[name]})

    def test_obj(self):
        self.to("obj")
        count = 0
        with open(self.path("state.obj"), encoding="ascii") as file:
            while lines := file.readlines(1 << 26):
                rows = "".join(line[2:] for line in lines if line.startswith("v "))
                position = numpy.fromstring(rows, numpy.float64, sep=" ").reshape(-1, 3)
                expected = self.particles["position"][count:count + len(position)]
                numpy.testing.assert_allclose(position, expected, rtol=0, atol=1e-7)
                count += len(position)
        self.assertEqual(count, COUNT)

    @unittest.skipUnless(vdb, "python3-openvdb is not installed")
    def test_vdb_and_usda(self):
        self.convert(self.state, "--to", "vdb,usda")
        grid = vdb.read(self.path("state.vdb"), "density")
        low, high = grid.evalActiveVoxelBoundingBox()
        values = numpy.zeros([b - a + 1 for a, b in zip(low, high)], numpy.float32)
        grid.copyToArray(values, ijk=low)
        mass = self.particles["mass"].astype(float).sum()
        self.assertAlmostEqual(values.sum(dtype=float) * CELL**3 / mass, 1, delta=1e-6)
        with open(self.path("state.usda"), encoding="ascii") as file:
            text = file.read()
        self.assertLess(len(text), 1 << 16)  # too many to carry: it points at the volume
        self.assertIn("@./state.vdb@", text)

    def test_usda_points(self):
        self.to("usda", "--usda-points", COUNT)
        with open(self.path("state.usda"), encoding="ascii") as file:
            text = file.read()
        begin = text.index("[", text.index("point3f[] points.timeSamples") + len("point3f[]")) + 1
        body = text[begin:text.index("]", begin)]
        position = numpy.fromstring(body.translate({40: " ", 41: " ", 44: " "}), numpy.float64, sep=" ").reshape(-1, 3)
        self.assertEqual(len(position), COUNT)
        numpy.testing.assert_allclose(position, self.particles["position"], rtol=0, atol=1e-7)


if __name__ == "__main__":
    main()
