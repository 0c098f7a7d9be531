"""Random scenes that no one should simulate: each run ends well, or with exit code 70 and a report; no
frame ever holds a number that is not finite, and no run hangs.

    torture.py FIRN [--backend ref] [--first 0] [--scenes 20] [--seed 1] [--integrator TYPE] [--keep DIR]

Scene N of a seed is always the same; a failure prints the command that repeats it alone. Steps are asked
for up to 100 times too large; stiffness goes from 1e3 to 1e8 Pa, yield from 0 to 0.2, hardening from 0
to 30, particles in a cell from 1 to 64; bodies cross the snow at up to 50 m/s; some snow may sleep; particles sit
exactly on nodes, all at one point, or are turned inside out.
"""

import argparse
import glob
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy

SECONDS = 3  # of a run, after which it is asked to stop; it must then do so
PATIENCE = 120  # s until a run that does not stop counts as hung
REPORT = re.compile(r"error: step \d+ \(time .*\): .*particle \d+ .*at \(.*\).*: .*[-\d]", re.DOTALL)


def log_uniform(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


def material(r):
    some = lambda high: 0 if r.random() < 0.15 else r.uniform(0, high)
    return {
        "preset": "snow",
        "young_modulus": log_uniform(r, 1e3, 1e8),
        "poisson_ratio": r.uniform(0, 0.45),
        "density": r.uniform(50, 500),
        "hardening": some(30),
        "critical_compression": some(0.2),
        "critical_stretch": some(0.2),
    }


def wave_speed(m):
    E, nu = m["young_modulus"], m["poisson_ratio"]
    return math.sqrt(E * (1 - nu) / ((1 + nu) * (1 - 2 * nu)) / m["density"])


def integrator(r, has_solver):
    kind = r.choice(["explicit", "semi_implicit", "auto"] if has_solver else ["explicit", "auto"])
    hessian = r.choice(["exact", "projected"])
    return {
        "type": kind,
        "beta": r.choice([0.5, 1, r.uniform(0, 1)]),
        "tolerance": log_uniform(r, 1e-8, 1e-2),
        "max_iterations": r.choice([3, 30, 200]),
        "preconditioner": r.choice(["none", "diagonal", "block"]),
        "hessian": hessian,
        "newton_iterations": r.choice([1, 1, 10]) if hessian == "projected" else 1,
    }


def colliders(r, d, h, half):
    """Bodies, and for how long one needs that flies through the snow (0: none does)."""
    zero = [0] * d
    found = []
    crossing = 0
    if r.random() < 0.7:
        found.append({"shape": {"plane": {"point": zero, "normal": [0, 1] + [0] * (d - 2)}}})
    if r.random() < 0.5:  # something that flies through the snow
        start = [-half - 4 * h, half] + [0] * (d - 2)
        velocity = [r.choice([50, r.uniform(1, 50)]), r.uniform(-5, 5)] + [0] * (d - 2)
        crossing = 2 * (half + 4 * h) / velocity[0]
        shape = r.choice([{"sphere": {"center": start, "radius": 2 * h}},
                          {"box": {"center": start, "size": [3 * h] * d}}])
        found.append({"shape": shape, "velocity": velocity})
    for body in found:
        body.update(r.choice([{"sticky": True}, {"friction": 0}, {"friction": r.uniform(0, 2)}]))
    return found, crossing


def scene(r, has_solver):
    """A scene as a mapping, and what becomes of its particles before they move."""
    d = r.choice([2, 2, 3])
    h = r.choice([0.01, 0.05, 0.1])
    m = material(r)
    per_cell = log_uniform(r, 1, 64)
    cells = min(12 if d == 2 else 4, max(1.0, (400 / per_cell) ** (1 / d)))
    half = cells * h / 2
    stable = 0.4 * h / wave_speed(m)
    speed = r.choice([0, 3, 30]) * r.uniform(0, 1)
    bodies, crossing = colliders(r, d, h, half)
    seconds = min(max(120 * stable, crossing), 2000 * stable)
    simulation = {
        "dimensions": d,
        "cell_size": h,
        "fps": 3 / seconds,
        "frames": 3,
        "kernel": r.choice(["cubic", "quadratic"]),
        "transfer": r.choice([{"type": "flip", "blend": r.uniform(0, 1)}, "apic", "mls"]),
        "integrator": integrator(r, has_solver),
        "time_step": r.choice(["auto", min(1, stable * log_uniform(r, 1, 100)), min(1, 100 * stable)]),
    }
    if r.random() < 0.2:
        simulation["sleep"] = {"speed": log_uniform(r, 1e-3, 10), "after": seconds * r.uniform(0.01, 0.5)}
    ball = {"sphere": {"center": [0, half] + [0] * (d - 2), "radius": half}}
    box = {"box": {"center": [0, half] + [0] * (d - 2), "size": [2 * half] * d}}
    snow = {
        "shape": r.choice([ball, box]),
        "material": "m",
        "velocity": [r.uniform(-1, 1) * speed, -speed] + [0] * (d - 2),
        "sampling": {"particles_per_cell": per_cell, "method": r.choice(["random", "lattice"])},
    }
    whole = {"simulation": simulation, "materials": {"m": m}, "snow": [snow]}
    if bodies:
        whole["colliders"] = bodies
    spoil = r.choice(["nothing", "nothing", "nothing", "on nodes", "one point", "inverted", "crushed"])
    return whole, spoil


def spoil_state(path, how, r, d, h):
    """Edit a checkpoint in a supported way, to a state from which it is hard to go on."""
    with h5py.File(path, "r+") as file:
        p = file["particles"]
        x = p["position"][...]
        if how == "on nodes":
            p["position"][...] = numpy.round(x / h) * h
        elif how == "one point":
            p["position"][...] = x[:1] if r.random() < 0.5 else numpy.round(x[:1] / h) * h
        elif how == "inverted":
            F = p["F_E"][...]
            F[:: r.choice([1, 3]), 0] *= -1
            p["F_E"][...] = F
        elif how == "crushed":
            F = p["F_E"][...]
            F[:] = numpy.eye(d) * r.choice([0, 1e-6, 0.3, 5])
            p["F_E"][...] = F
            p["J_P"][...] = r.choice([1e-8, 0.1, 3, 1e8])


def not_finite(path):
    """The names of what in an HDF5 file is not finite."""
    bad = []

    def visit(name, thing):
        if isinstance(thing, h5py.Dataset) and thing.dtype.kind == "f":
            if not numpy.isfinite(thing[...]).all():
                bad.append(f"{path}:{name}")

    with h5py.File(path, "r") as file:
        file.visititems(visit)
    return bad


class Torture:
    def __init__(self, options, home):
        self.options = options
        self.home = home
        self.ends = {}
        self.has_solver = self.firn("run", self.write({
            "simulation": {"dimensions": 2, "cell_size": 1, "integrator": "semi_implicit"},
            "snow": [{"shape": {"sphere": {"center": [0, 0], "radius": 2}}}],
        }), "-o", os.path.join(home, "probe"), "--steps", "1").returncode == 0

    def write(self, mapping):
        path = os.path.join(self.home, "scene.yaml")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(mapping, file, indent=1)
        return path

    def firn(self, *arguments):
        command = [self.options.firn, *map(str, arguments), "--backend", self.options.backend]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def verdict(self, done, folder):
        """What is wrong with a run that ended, or None."""
        bad = [name for path in glob.glob(f"{folder}/*.hdf") + glob.glob(f"{folder}/*.h5")
               for name in not_finite(path)]
        if bad:
            return "not finite: " + ", ".join(bad)
        if done.returncode == 70:
            return None if REPORT.search(done.stderr) else "exit code 70 without a report"
        if done.returncode == 75:
            return None if "stopped at frame" in done.stderr else "stopped without a word"
        return None if done.returncode == 0 else f"exit code {done.returncode}"

    def run(self, number):
        r = random.Random(self.options.seed * 1000003 + number)
        mapping, how = scene(r, self.has_solver)
        if self.options.integrator:
            mapping["simulation"]["integrator"]["type"] = self.options.integrator
        path = self.write(mapping)
        folder = os.path.join(self.home, "run")
        shutil.rmtree(folder, ignore_errors=True)
        arguments = ["run", path, "-o", folder, "--max-hours", SECONDS / 3600]
        try:
            if how != "nothing":
                state = os.path.join(self.home, "state.h5")
                made = self.firn("run", path, "-o", folder, "--steps", 0, "--checkpoint", state)
                if made.returncode != 0:
                    return f"{how}: could not make a state: {made.stderr}"
                simulation = mapping["simulation"]
                spoil_state(state, how, r, simulation["dimensions"], simulation["cell_size"])
                shutil.rmtree(folder)
                arguments += ["--resume", state]
            done = self.firn(*arguments)
        except subprocess.TimeoutExpired:
            return f"{how}: hung"
        wrong = self.verdict(done, folder)
        self.ends[done.returncode] = self.ends.get(done.returncode, 0) + 1
        return wrong and f"{how}: {wrong}\n{done.stderr[-2000:]}"


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("firn", type=os.path.abspath)
    parser.add_argument("--backend", default="ref")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--integrator", help="explicit, semi_implicit or auto, instead of any")
    parser.add_argument("--keep", help="folder to keep the last scene and run in")
    return parser.parse_args()


def main():
    options = parse()
    home = options.keep or tempfile.mkdtemp(prefix="firn-torture-")
    os.makedirs(home, exist_ok=True)
    torture = Torture(options, home)
    numbers = range(options.first, options.first + options.scenes)
    failures = 0
    for number in numbers:
        wrong = torture.run(number)
        if wrong:
            failures += 1
            integrator = f" --integrator {options.integrator}" if options.integrator else ""
            print(f"scene {number}: {wrong}\nrepeat: {sys.argv[0]} {options.firn} --backend {options.backend} "
                  f"--seed {options.seed} --first {number} --scenes 1{integrator} --keep DIR", flush=True)
    print(f"{len(numbers)} scenes on {options.backend}, solver: {torture.has_solver}, exit codes: "
          f"{torture.ends}, failures: {failures}")
    if not options.keep:
        shutil.rmtree(home)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
