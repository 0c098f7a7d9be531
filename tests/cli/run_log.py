"""The JSON log: every field of every frame, and that the numbers mean what they say."""

import json
import math

from harness import FLIGHT, Case, attribute, log, main, particles

FIELDS = """frame time steps retries dt_min dt_max particles active_nodes mass momentum angular_momentum
kinetic_energy elastic_energy max_speed J_P_min J_P_max implicit_steps solver_iterations newton_iterations
solver_residual ms seconds""".split()
STAGES = ["sort", "p2g", "grid", "solve", "g2p", "io"]


class Log(Case):
    def entries(self, *options, scene=None):
        self.firn("run", scene or self.scene, "-o", "out", *options)
        with open(self.path("out", "log.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_fields(self):
        entries = self.entries()
        self.assertEqual([entry["frame"] for entry in entries], [0, 1, 2, 3, 4, 5])
        for entry in entries:
            self.assertLessEqual(set(FIELDS), set(entry))
            self.assertEqual(list(entry["ms"]), STAGES)
            self.assertEqual(len(entry["momentum"]), 3)
            self.assertEqual(len(entry["angular_momentum"]), 3)
            values = [v for v in entry.values() if isinstance(v, float)] + list(entry["ms"].values())
            self.assertTrue(all(map(math.isfinite, values)))

    def test_meaning(self):
        entries = self.entries()
        for entry in entries[1:]:
            self.assertEqual(entry["time"], entry["frame"] / 240)
            self.assertGreater(entry["dt_min"], 0)
            self.assertLessEqual(entry["dt_min"], entry["dt_max"])
            self.assertLessEqual(entry["dt_min"] * entry["steps"], 1.000001 / 240)
            self.assertGreaterEqual(entry["dt_max"] * entry["steps"], 0.999999 / 240)
            self.assertGreater(entry["active_nodes"], 0)
            self.assertGreaterEqual(1e3 * entry["seconds"], sum(entry["ms"].values()) * 0.9)
        self.assertEqual(sum(entry["steps"] for entry in entries), entries[-1]["step"])
        checkpoint = self.path("out", "checkpoint.h5")
        self.assertEqual(entries[-1]["step"], attribute(checkpoint, "step"))
        self.assertEqual(entries[-1]["particles"], len(particles(checkpoint, "mass")))
        self.assertAlmostEqual(entries[-1]["mass"], particles(checkpoint, "mass").sum(), delta=1e-9)
        momentum = (particles(checkpoint, "mass")[:, None] * particles(checkpoint, "velocity")).sum(axis=0)
        for k in range(2):
            self.assertAlmostEqual(entries[-1]["momentum"][k], momentum[k], delta=1e-9)

    def test_free_fall(self):
        entries = self.entries(scene=self.write("flight.yaml", FLIGHT))
        for entry in entries:
            velocity = [value / entry["mass"] for value in entry["momentum"]]
            self.assertAlmostEqual(velocity[0], 0.5, delta=1e-9)
            self.assertAlmostEqual(velocity[1], -4 - 9.81 * entry["time"], delta=1e-9)

    def test_elsewhere(self):
        self.firn("run", self.scene, "-o", "one")
        self.firn("run", self.scene, "-o", "two", "--log-json", "two.jsonl", "--frames", 3)
        self.firn("run", self.scene, "-o", "two", "--log-json", "two.jsonl")
        self.assertEqual(log(self.path("one")), log(self.path("two.jsonl")))
        out, _ = self.firn("run", self.scene, "-o", "three", "--log-json", "-", "--frames", 2)
        self.assertEqual([json.loads(line)["frame"] for line in out.splitlines()], [0, 1, 2])


if __name__ == "__main__":
    main()
