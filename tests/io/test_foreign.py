#!/usr/bin/env python3
"""What other programs make of our files, and we of theirs: h5py, VTK, NumPy.

    test_foreign.py SAMPLE_PROGRAM
"""
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import VTK_VERTEX, vtkDataObject
    from vtkmodules.vtkFiltersCore import vtkThreshold
    from vtkmodules.vtkIOHDF import vtkHDFReader
    from vtkmodules.vtkIOPLY import vtkPLYReader
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)

SAMPLE = sys.argv[1]
SCALARS = ["mass", "volume", "J_P", "mu0", "lambda0", "hardening", "theta_c", "theta_s"]


def sample(*arguments, expect=0):
    done = subprocess.run([SAMPLE, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == expect, (arguments, done.returncode, done.stderr)
    return done.stdout if expect == 0 else done.stderr


def dump(path, attribute):
    return np.array([line.split() for line in sample("dump", path, attribute).splitlines()], float)


def load(path):
    with h5py.File(path) as file:
        return {name: data[...] for name, data in file["particles"].items()}


def check_checkpoint(path, count, d, precision, transfer):
    """The contract of docs: names, shapes and types."""
    state = load(path)
    real = np.float64 if precision == "double" else np.float32
    want = {"id": (np.uint64, ()), "object": (np.uint32, ()), "position": (np.float64, (d,)),
            "velocity": (real, (d,)), "F_E": (real, (d, d))}
    want.update({name: (real, ()) for name in SCALARS})
    if transfer == "apic":
        want["B"] = (np.float64, (d, d))
    assert set(state) == set(want), set(state) ^ set(want)
    for name, (kind, inner) in want.items():
        assert state[name].dtype == kind, name
        assert state[name].shape == (count, *inner), name
    with h5py.File(path) as file:
        about = dict(file.attrs)
    assert about["time"] == 1 / 3 and about["step"] == 5000000000 and about["frame"] == 8
    assert about["cell_size"] == 0.01 and about["dimensions"] == d
    assert about["kernel"] == b"quadratic" and about["transfer"] == transfer.encode()
    assert about["firn_version"] == b"0.1.0"
    return state


def as_float(vectors):
    """As frames hold them: float32, three components."""
    return np.pad(vectors, ((0, 0), (0, 3 - vectors.shape[1]))).astype(np.float32)


def density(state):
    return state["mass"].astype(float) / (
        state["volume"].astype(float) * np.linalg.det(state["F_E"].astype(float)) * state["J_P"])


def check_vtkhdf(path, state):
    reader = vtkHDFReader()
    assert reader.CanReadFile(path)
    reader.SetFileName(path)
    reader.Update()
    grid = reader.GetOutput()
    count = len(state["id"])
    assert grid.GetNumberOfPoints() == count and grid.GetNumberOfCells() == count
    if count == 0:
        return
    assert (vtk_to_numpy(grid.GetCellTypesArray()) == VTK_VERTEX).all()
    data = grid.GetPointData()
    arrays = {data.GetArrayName(k): vtk_to_numpy(data.GetArray(k))
              for k in range(data.GetNumberOfArrays())}
    points = vtk_to_numpy(grid.GetPoints().GetData())
    if points.dtype == np.float64:
        assert (points[:, :state["position"].shape[1]] == state["position"]).all()
    assert (points.astype(np.float32) == as_float(state["position"])).all()
    assert (arrays["velocity"] == as_float(state["velocity"])).all()
    for name in ["mass", "J_P", "id", "object"]:
        assert (arrays[name] == state[name].astype(arrays[name].dtype)).all(), name
    assert arrays["id"].dtype.itemsize == 8 and arrays["mass"].dtype == np.float32
    assert np.allclose(arrays["density"], density(state), rtol=1e-6)
    assert vtk_to_numpy(grid.GetFieldData().GetArray("TimeValue"))[0] == 1 / 3
    check_threshold(reader, arrays["J_P"])


def check_threshold(reader, J_P):
    """ParaView's Threshold takes single particles: each is a cell of its own."""
    threshold = vtkThreshold()
    threshold.SetInputConnection(reader.GetOutputPort())
    threshold.SetInputArrayToProcess(0, 0, 0, vtkDataObject.FIELD_ASSOCIATION_POINTS, "J_P")
    threshold.SetThresholdFunction(vtkThreshold.THRESHOLD_UPPER)
    threshold.SetUpperThreshold(1.0)
    threshold.Update()
    assert threshold.GetOutput().GetNumberOfPoints() == np.count_nonzero(J_P >= 1)


def check_ply(path, state):
    with open(path, "rb") as file:
        header, body = file.read().split(b"end_header\n", 1)
    assert b"comment time 0.33333333333333331\n" in header
    kinds = {"float": "<f4", "uint": "<u4", "double": "<f8"}
    fields = [line.split()[1:] for line in header.decode().splitlines()
              if line.startswith("property")]
    rows = np.frombuffer(body, np.dtype([(name, kinds[kind]) for kind, name in fields]))
    assert len(rows) == len(state["id"])
    for names, array in [("x y z", "position"), ("vx vy vz", "velocity")]:
        columns = np.stack([rows[name] for name in names.split()], axis=1)
        if columns.dtype == np.float64:  # float32 is too coarse there
            assert (columns[:, :state[array].shape[1]] == state[array]).all(), array
        assert (columns.astype(np.float32) == as_float(state[array])).all(), array
    for name in ["mass", "J_P", "id", "object"]:
        assert (rows[name] == state[name].astype(rows[name].dtype)).all(), name
    assert np.allclose(rows["density"], density(state), rtol=1e-6)
    reader = vtkPLYReader()
    reader.SetFileName(path)
    reader.Update()
    if len(rows):
        points = vtk_to_numpy(reader.GetOutput().GetPoints().GetData())
        assert (points == as_float(state["position"])).all()


def check_editing(folder):
    """Arrays changed with h5py are what a resumed run reads."""
    path = os.path.join(folder, "state.h5")
    sample("write", folder, 9000, 3, "double", "apic", 0)
    state = load(path)
    with h5py.File(path, "r+") as file:
        particles = file["particles"]
        particles["velocity"][...] = state["velocity"] * 2  # in place
        particles["J_P"][17] = 0.75
        del particles["mass"], particles["F_E"], particles["object"]
        particles["mass"] = state["mass"].astype(np.float32)  # other widths, other storage
        particles.create_dataset("F_E", data=state["F_E"].astype(np.float32), compression="gzip")
        particles["note"] = "added by hand"
        file.attrs["time"] = 2
        file.attrs["kernel"] = "quadratic"
    state["J_P"][17] = 0.75
    assert (dump(path, "velocity") == state["velocity"] * 2).all()
    assert (dump(path, "J_P")[:, 0] == state["J_P"]).all()
    assert (dump(path, "mass")[:, 0] == state["mass"].astype(np.float32)).all()
    assert (dump(path, "F_E") == state["F_E"].astype(np.float32).reshape(-1, 9)).all()
    assert (dump(path, "position") == state["position"]).all()
    ids = dump(path, "id")
    assert (ids[:, 0] == state["id"]).all() and (ids[:, 1] == 0).all()
    report = sample("info", path)
    assert "time         2 s" in report and "quadratic kernel" in report
    with h5py.File(path, "r+") as file:
        file["particles/velocity"][8999, 1] = np.nan
    message = sample("dump", path, "velocity", expect=65)
    assert path in message and "velocity in row 8999 is" in message, message


def check_made_elsewhere(folder):
    """A checkpoint that h5py alone wrote, without what is ours."""
    path = os.path.join(folder, "made.h5")
    with h5py.File(path, "w") as file:
        file.attrs.update({"firn_version": "0.1.0", "time": 0.0, "step": 0, "frame": 0,
                           "cell_size": 0.1, "dimensions": 2, "kernel": "cubic",
                           "transfer": "flip"})
        particles = file.create_group("particles")
        particles["id"] = np.arange(3)
        for name in SCALARS:
            particles[name] = np.full(3, 0.5)
        particles["position"] = np.arange(6.0).reshape(3, 2)
        particles["velocity"] = np.zeros((3, 2), np.float16)
        particles["F_E"] = np.tile(np.eye(2), (3, 1, 1))
    assert (dump(path, "position") == np.arange(6.0).reshape(3, 2)).all()
    assert (dump(path, "velocity") == 0).all()


def main():
    cases = [(0, 3, "double", "flip", 0), (1, 2, "float", "apic", -3),
             (500, 2, "double", "flip", 0), (20000, 3, "float", "flip", 0.5),
             (20000, 3, "double", "apic", -4000)]
    with tempfile.TemporaryDirectory() as folder:
        for count, d, precision, transfer, centre in cases:
            sample("write", folder, count, d, precision, transfer, centre)
            path = os.path.join(folder, "state.h5")
            state = check_checkpoint(path, count, d, precision, transfer)
            check_vtkhdf(os.path.join(folder, "frame.hdf"), state)
            check_ply(os.path.join(folder, "frame.ply"), state)
        check_editing(folder)
        check_made_elsewhere(folder)
    print("h5py, VTK and NumPy agree")


main()
