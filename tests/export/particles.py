"""Particles in every format, read by programs and parsers that know nothing of the writer."""

import json
import os
import re
import struct
import unittest

import numpy

from harness import Case, main, snow

try:
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOGeometry import vtkOBJReader
    from vtkmodules.vtkIOHDF import vtkHDFReader
    from vtkmodules.vtkIOPLY import vtkPLYReader
    HAS_VTK = True
except ImportError:
    HAS_VTK = False

ALL = "velocity,density,J_P,mass,volume,F_E,stress,mu0,lambda0,hardening,theta_c,theta_s"


def density(p):
    return p["mass"].astype(float) / (
        p["volume"].astype(float) * numpy.linalg.det(p["F_E"].astype(float)) * p["J_P"].astype(float))


def in_three(array):
    """Vectors and matrices as frames hold them: of three dimensions, F_zz = 1."""
    d = array.shape[-1]
    if d == 3:
        return array
    if array.ndim == 2:
        return numpy.pad(array, ((0, 0), (0, 1)))
    out = numpy.pad(array, ((0, 0), (0, 1), (0, 1)))
    out[:, 2, 2] = 1
    return out


def read_bgeo(path):
    """BGEO version 5 after SideFX's page on the geo format: sizes and types, big-endian."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from(">" + form, data, at)
        at += struct.calcsize(">" + form)
        return values

    magic, version = take("5si")
    assert (magic, version) == (b"BgeoV", 5)
    points, prims, point_groups, prim_groups, attributes, vertex, prim, detail = take("8i")
    assert (prims, point_groups, prim_groups, vertex, prim, detail) == (0,) * 6
    fields, types = [("P", ">f4", 4)], {"P": "float"}
    for _ in range(attributes):
        (length,) = take("H")
        name = take(f"{length}s")[0].decode()
        size, kind = take("Hi")
        take(f"{size}i")  # the default
        types[name] = {0: "float", 1: "integer", 5: "vector"}[kind]
        fields.append((name, ">i4" if kind == 1 else ">f4") + ((size,) if size > 1 else ()))
    row = numpy.dtype(fields)
    table = numpy.frombuffer(data, row, points, at)
    at += points * row.itemsize
    assert data[at:] == b"\x00\xff", "extras"
    return table, types


class Particles(Case):
    def test_npz(self):
        for d in (3, 2):
            p = snow(5000, d)
            self.convert(self.checkpoint(p, kernel="quadratic"), "--to", "npz", "--attributes", ALL)
            with numpy.load(self.path("state.npz")) as found:
                self.assertEqual((found["time"], found["frame"], found["step"]), (0.25, 7, 123))
                self.assertEqual((found["cell_size"], found["dimensions"], str(found["kernel"])),
                                 (0.1, d, "quadratic"))
                for name in set(ALL.split(",")) - {"density", "stress"}:
                    numpy.testing.assert_array_equal(found[name], in_three(p[name][..., None])[..., 0]
                                                     if p[name].ndim == 1 else in_three(p[name]), name)
                    self.assertEqual(found[name].dtype, numpy.float32)
                numpy.testing.assert_array_equal(found["position"], in_three(p["position"]).astype("f4"))
                numpy.testing.assert_array_equal(found["id"], p["id"])
                numpy.testing.assert_array_equal(found["object"], p["object"])
                numpy.testing.assert_allclose(found["density"], density(p), rtol=1e-6)
                self.assertEqual(found["stress"].shape, (5000, 6))

    def test_npz_of_many_pieces(self):
        """Arrays of several deflated pieces, whatever the number of threads."""
        p = snow(300000)
        files = []
        for threads in (1, 2, 5):
            self.convert(self.checkpoint(p), "--to", "npz", "--threads", threads)
            with open(self.path("state.npz"), "rb") as file:
                files.append(file.read())
        self.assertEqual(len(set(files)), 1)
        with numpy.load(self.path("state.npz")) as found:
            numpy.testing.assert_array_equal(found["velocity"], p["velocity"])
            numpy.testing.assert_array_equal(found["id"], p["id"])

    def test_bgeo(self):
        for d in (3, 2):
            p = snow(3000, d)
            self.convert(self.checkpoint(p), "--to", "bgeo")
            table, types = read_bgeo(self.path("state.bgeo"))
            self.assertEqual(set(types), {"P", "id", "object", "pscale", "v", "density", "Jp", "F", "mass"})
            self.assertEqual((types["id"], types["v"], types["F"]), ("integer", "vector", "float"))
            numpy.testing.assert_array_equal(table["P"][:, :3], in_three(p["position"]).astype("f4"))
            self.assertTrue((table["P"][:, 3] == 1).all())
            numpy.testing.assert_array_equal(table["v"], in_three(p["velocity"]))
            numpy.testing.assert_array_equal(table["F"].reshape(-1, 3, 3), in_three(p["F_E"]))
            for name, source in (("id", "id"), ("object", "object"), ("Jp", "J_P"), ("mass", "mass")):
                numpy.testing.assert_array_equal(table[name], p[source], name)
            numpy.testing.assert_allclose(table["density"], density(p), rtol=1e-6)
            volume = p["mass"] / density(p)
            radius = (volume * 3 / (4 * numpy.pi)) ** (1 / 3) if d == 3 else (volume / numpy.pi) ** 0.5
            numpy.testing.assert_allclose(table["pscale"], radius, rtol=1e-6)

    def test_bgeo_ids_that_do_not_fit(self):
        p = snow(3)
        p["id"][2] = 2**31
        _, err = self.firn("convert", self.checkpoint(p), "--to", "bgeo", code=65)
        self.assertIn("2147483648", err)
        self.assertFalse(os.path.exists(self.path("state.bgeo")))

    @unittest.skipUnless(HAS_VTK, "python3-vtk9 is not installed")
    def test_vtkhdf_all_attributes(self):
        p = snow(4000)
        self.convert(self.checkpoint(p), "--to", "vtkhdf", "--attributes", ALL)
        reader = vtkHDFReader()
        reader.SetFileName(self.path("state.hdf"))
        reader.Update()
        data = reader.GetOutput().GetPointData()
        found = {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k)) for k in range(data.GetNumberOfArrays())}
        self.assertEqual(set(found), set(ALL.split(",")) | {"id", "object"})
        for name in set(found) - {"density", "stress"}:
            numpy.testing.assert_array_equal(found[name].reshape(p[name].shape), p[name], name)
        numpy.testing.assert_allclose(found["density"], density(p), rtol=1e-6)
        # And back: what was written can be converted again.
        self.convert(self.path("state.hdf"), "--to", "npz", "--attributes", ALL)
        with numpy.load(self.path("state.npz")) as again:
            numpy.testing.assert_array_equal(again["stress"], found["stress"])
            numpy.testing.assert_array_equal(again["F_E"], p["F_E"])

    def test_missing_attribute(self):
        self.convert(self.checkpoint(snow(10)), "--to", "vtkhdf", "--attributes", "velocity,mass")
        for arguments in (["ply", "--attributes", "F_E"], ["vdb", "--grids", "stress"]):
            _, err = self.firn("convert", "state.hdf", "-o", "out", "--to", *arguments, code=65)
            self.assertIn("holds no", err)
            self.assertIn("output.attributes", err)
        self.convert(self.path("state.hdf"), "-o", "out", "--to", "ply")  # what there is
        with open(self.path("out", "state.ply"), "rb") as file:
            header = file.read(1000).split(b"end_header")[0]
        self.assertIn(b"property float mass\n", header)
        self.assertNotIn(b"J_P", header)

    @unittest.skipUnless(HAS_VTK, "python3-vtk9 is not installed")
    def test_ply_all_attributes(self):
        p = snow(2000)
        self.convert(self.checkpoint(p), "--to", "ply", "--attributes", ALL)
        with open(self.path("state.ply"), "rb") as file:
            header, body = file.read().split(b"end_header\n", 1)
        kinds = {"float": "<f4", "uint": "<u4", "double": "<f8"}
        fields = [line.split()[1:] for line in header.decode().splitlines() if line.startswith("property")]
        rows = numpy.frombuffer(body, numpy.dtype([(name, kinds[kind]) for kind, name in fields]))
        for k, a in enumerate("xyz"):
            numpy.testing.assert_array_equal(rows[a], p["position"][:, k].astype("f4"))
            numpy.testing.assert_array_equal(rows["v" + a], p["velocity"][:, k])
            for j, b in enumerate("xyz"):
                numpy.testing.assert_array_equal(rows[f"F_E_{a}{b}"], p["F_E"][:, k, j])
        for name in ("J_P", "mass", "volume", "mu0", "lambda0", "hardening", "theta_c", "theta_s", "id", "object"):
            numpy.testing.assert_array_equal(rows[name], p[name].astype(rows[name].dtype), name)
        self.assertIn("stress_xz", rows.dtype.names)
        reader = vtkPLYReader()
        reader.SetFileName(self.path("state.ply"))
        reader.Update()
        points = vtk_to_numpy(reader.GetOutput().GetPoints().GetData())
        numpy.testing.assert_array_equal(points, p["position"].astype("f4"))

    @unittest.skipUnless(HAS_VTK, "python3-vtk9 is not installed")
    def test_obj(self):
        p = snow(30000)
        self.convert(self.checkpoint(p), "--to", "obj")
        found = numpy.loadtxt(self.path("state.obj"), usecols=(1, 2, 3), dtype=numpy.float32)
        numpy.testing.assert_array_equal(found, p["position"].astype("f4"))
        reader = vtkOBJReader()
        reader.SetFileName(self.path("state.obj"))
        reader.Update()
        self.assertEqual(reader.GetOutput().GetPoints().GetNumberOfPoints(), 30000)

    def test_far(self):
        """A million metres out positions keep their digits wherever the format can."""
        p = snow(500, radius=0.5, centre=numpy.array([1e6, -1e6, 3]))
        self.convert(self.checkpoint(p, cell_size=0.01), "--to", "npz,obj,ply,vtkhdf,bgeo")
        with numpy.load(self.path("state.npz")) as found:
            numpy.testing.assert_array_equal(found["position"], p["position"])
        found = numpy.loadtxt(self.path("state.obj"), usecols=(1, 2, 3))
        numpy.testing.assert_array_equal(found, p["position"])
        table, _ = read_bgeo(self.path("state.bgeo"))
        numpy.testing.assert_array_equal(table["P"][:, :3], p["position"].astype("f4"))

    def test_up_and_scale(self):
        p = snow(100)
        self.convert(self.checkpoint(p), "--to", "npz", "--attributes", ALL, "--up", "z", "--scale", 100)
        turn = numpy.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
        with numpy.load(self.path("state.npz")) as found:
            numpy.testing.assert_allclose(found["position"], 100 * p["position"] @ turn.T, rtol=1e-6)
            numpy.testing.assert_allclose(found["velocity"], 100 * p["velocity"] @ turn.T, rtol=1e-6)
            numpy.testing.assert_allclose(found["F_E"], turn @ p["F_E"] @ turn.T, rtol=1e-6)
            numpy.testing.assert_allclose(found["density"], density(p), rtol=1e-6)
            self.assertAlmostEqual(float(found["cell_size"]), 10, places=9)
            six = found["stress"]
        self.convert(self.checkpoint(p), "--to", "npz", "--attributes", "stress")
        with numpy.load(self.path("state.npz")) as found:
            xx, yy, zz, xy, yz, xz = found["stress"].T
            full = numpy.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
        full = turn @ full @ turn.T
        for k, (a, b) in enumerate([(0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)]):
            numpy.testing.assert_allclose(six[:, k], full[:, a, b], rtol=1e-5, atol=1e-3)

    def test_precision(self):
        """No position is off by more than was allowed, and files are smaller."""
        for centre, scale in ((0, 1), (500, 1), (0, 100)):
            p = snow(20000, centre=centre)
            source = self.checkpoint(p)
            sizes = {}
            for precision in (0, 1e-5, 1e-3):
                self.convert(source, "--to", "npz,ply,obj,vtkhdf,bgeo", "--precision", precision, "--scale", scale)
                found = {"obj": numpy.loadtxt(self.path("state.obj"), usecols=(1, 2, 3))}
                with numpy.load(self.path("state.npz")) as npz:
                    found["npz"] = npz["position"].astype(float)
                found["bgeo"] = read_bgeo(self.path("state.bgeo"))[0]["P"][:, :3].astype(float)
                for name, positions in found.items():
                    error = numpy.abs(positions / scale - p["position"]).max()
                    spacing = 2.0**-24 * numpy.abs(p["position"]).max()
                    allowed = precision + (spacing if name == "bgeo" or not precision else 1e-12)
                    self.assertLessEqual(error, allowed, (name, precision))
                    if precision:
                        self.assertGreater(error, precision / 8, (name, precision))
                sizes[precision] = [os.path.getsize(self.path(f"state.{e}")) for e in ("npz", "hdf", "obj")]
            for k in range(3):
                self.assertLess(sizes[1e-3][k], sizes[1e-5][k])
                self.assertLess(sizes[1e-3][k], (0.92 if centre == 0 else 1) * sizes[0][k])

    def test_few(self):
        for count in (0, 1):
            p = snow(count)
            self.convert(self.checkpoint(p), "--to", "npz,obj,ply,vtkhdf,bgeo,usda")
            with numpy.load(self.path("state.npz")) as found:
                self.assertEqual(found["position"].shape, (count, 3))
                self.assertEqual(found["id"].shape, (count,))
            self.assertEqual(len(read_bgeo(self.path("state.bgeo"))[0]), count)
            with open(self.path("state.obj"), encoding="ascii") as file:
                self.assertEqual(sum(line.startswith("v ") for line in file), count)


class Indexes(Case):
    def frames(self, numbers=(0, 1, 2, 3)):
        os.makedirs(self.path("run"), exist_ok=True)
        for frame in numbers:
            self.checkpoint(snow(40, seed=frame), f"state{frame}.h5", frame=frame, time=frame / 25)
            self.convert(self.path(f"state{frame}.h5"), "--to", "vtkhdf")
            os.rename(self.path(f"state{frame}.hdf"), self.path("run", f"frame_{frame:04}.hdf"))

    def test_series(self):
        self.frames()
        self.convert(self.path("run"), "--to", "vtkhdf", "-o", self.path("out"), "--every", 2)
        with open(self.path("out", "frames.hdf.series"), encoding="utf-8") as file:
            series = json.load(file)
        self.assertEqual(series["file-series-version"], "1.0")
        self.assertEqual([(f["name"], f["time"]) for f in series["files"]],
                         [("frame_0000.hdf", 0), ("frame_0002.hdf", 0.08)])
        for name in ("frame_0000.hdf", "frame_0002.hdf"):
            self.assertTrue(os.path.exists(self.path("out", name)))

    def usda(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as file:
            text = file.read()
        self.assertTrue(text.startswith("#usda 1.0\n"))
        for open_, close in ("()", "[]", "{}"):
            self.assertEqual(text.count(open_), text.count(close))
        return text

    def samples(self, text, name):
        body = re.search(re.escape(name) + r"\.timeSamples = \{(.*?)\n +\}", text, re.S)[1]
        return re.findall(r"(\d+): (.*),$", body, re.M)

    def test_usda(self):
        self.frames()
        self.convert(self.path("run"), "--to", "vdb,usda", "-o", self.path("out"), "--grids", "density,velocity,surface")
        text = self.usda("out", "frames.usda")
        self.assertIn('upAxis = "Y"', text)
        self.assertIn("timeCodesPerSecond = 25\n", text)
        self.assertIn("startTimeCode = 0\n    endTimeCode = 3\n", text)
        for grid, kind in (("density", "fogVolume"), ("velocity", "unknown"), ("surface", "levelSet")):
            self.assertIn(f"rel field:{grid} = </snow/volume/{grid}>", text)
            block = text[text.index(f'def OpenVDBAsset "{grid}"'):]
            self.assertIn(f'token fieldName = "{grid}"', block)
            self.assertIn(f'token fieldClass = "{kind}"', block)
            files = self.samples(block, "filePath")
            self.assertEqual(files, [(str(f), f"@./frame_{f:04}.vdb@") for f in range(4)])
        for path in re.findall(r"@\./(.*?)@", text):
            self.assertTrue(os.path.exists(self.path("out", path)), path)
        self.assertIn("double2[] active = [(0, 0), (1, 1), (2, 2), (3, 3)]", text)
        layer = self.usda("out", "frame_0002.usda")
        (code, points), = self.samples(layer, "point3f[] points")
        found = numpy.array(re.findall(r"[-\d.e]+", points), dtype=numpy.float32).reshape(-1, 3)
        p = snow(40, seed=2)
        self.assertEqual(code, "2")
        numpy.testing.assert_array_equal(found, p["position"].astype("f4"))
        (_, ids), = self.samples(layer, "int64[] ids")
        self.assertEqual([int(i) for i in re.findall(r"\d+", ids)], list(p["id"]))
        (_, velocities), = self.samples(layer, "vector3f[] velocities")
        numpy.testing.assert_array_equal(
            numpy.array(re.findall(r"[-\d.e]+", velocities), dtype=numpy.float32).reshape(-1, 3), p["velocity"])

    def test_usda_limit_and_units(self):
        self.frames((1,))
        self.convert(self.path("run"), "--to", "usda", "--usda-points", 39, "--up", "z", "--scale", 100)
        text = self.usda("run", "frame_0001.usda")
        self.assertNotIn("Points", text)
        self.assertNotIn("Volume", text)  # there is no VDB file
        self.assertIn('upAxis = "Z"', text)
        self.assertIn("metersPerUnit = 0.01\n", text)
        self.convert(self.path("run"), "--to", "usda", "--usda-points", 40)
        self.assertIn("Points", self.usda("run", "frame_0001.usda"))


class CommandLine(Case):
    def test_mistakes(self):
        source = self.checkpoint(snow(5))
        for arguments, words in (
            ([], "missing option: --to"),
            (["--to", "vbd"], "'vbd' is none of vtkhdf, ply, vdb, bgeo, obj, usda, npz; did you mean 'vdb'?"),
            (["--to", "npz", "--attributes", "velocty"], "did you mean 'velocity'?"),
            (["--to", "vdb", "--grids", "densty"], "did you mean 'density'?"),
            (["--to", "ply", "--scale", "0"], "--scale must be"),
        ):
            _, err = self.firn("convert", source, *arguments, code=2)
            self.assertIn(words, err)

    def test_never_over_its_source(self):
        self.convert(self.checkpoint(snow(5)), "--to", "vtkhdf")
        with open(self.path("state.hdf"), "rb") as file:
            before = file.read()
        _, err = self.firn("convert", "state.hdf", "--to", "vtkhdf", code=2)
        self.assertIn("-o DIR", err)
        with open(self.path("state.hdf"), "rb") as file:
            self.assertEqual(before, file.read())

    def test_inputs(self):
        self.firn("convert", "none.hdf", "--to", "ply", code=66)
        os.mkdir(self.path("empty"))
        _, err = self.firn("convert", "empty", "--to", "ply", code=66)
        self.assertIn("holds no frames", err)
        with open(self.path("bad.hdf"), "w", encoding="ascii") as file:
            file.write("snow")
        self.firn("convert", "bad.hdf", "--to", "ply", code=65)


if __name__ == "__main__":
    main()
