"""Scenes from files, text and mappings; values replaced; what they tell of themselves."""

import json
import pathlib

import firn
import numpy
from harness import BALL, BLOCK, Case, main


class Sources(Case):
    def test_file_text_and_mapping_are_the_same_scene(self):
        path = self.write("block.yaml", json.dumps(BLOCK))
        scenes = [firn.Scene(path), firn.Scene(pathlib.Path(path)), firn.Scene.parse(json.dumps(BLOCK)), firn.Scene.parse(BLOCK)]
        self.assertEqual(len({scene.fingerprint for scene in scenes}), 1)
        self.assertEqual(scenes[0].name, "block")
        self.assertEqual(scenes[0].objects, ("block",))
        self.assertEqual(scenes[0].colliders, ("ground",))

    def test_name_stands_in_messages(self):
        with self.assertRaisesRegex(firn.Error, "from memory:1:"):
            firn.Scene.parse("simulation: {cell_sise: 1}", name="from memory")

    def test_numpy_values(self):
        scene = firn.Scene.parse(BLOCK, {"snow.block.velocity": numpy.array([1.5, 0]), "simulation.frames": numpy.int64(7)})
        self.assertEqual(scene.settings.frames, 7)
        with self.assertRaisesRegex(TypeError, "cannot hold"):
            firn.Scene.parse(BLOCK, {"simulation.frames": object()})


class Values(Case):
    def test_every_way_to_say_it(self):
        ways = [
            firn.Scene.parse(BLOCK, {"simulation.cell_size": 0.04, "simulation.kernel": "quadratic"}),
            firn.Scene.parse(BLOCK, {"simulation": {"cell_size": 0.04, "kernel": "quadratic"}}),
            firn.Scene.parse(BLOCK, simulation={"cell_size": 0.04, "kernel": "quadratic"}),
        ]
        changed = firn.Scene.parse(BLOCK)
        changed.set({"simulation.cell_size": 0.04})
        changed.set(simulation={"kernel": "quadratic"})
        for scene in [*ways, changed]:
            self.assertEqual(scene.settings.cell_size, 0.04)
            self.assertEqual(scene.settings.kernel, "quadratic")
            self.assertEqual(scene.settings.fps, 240)
        self.assertEqual(len({scene.fingerprint for scene in [*ways, changed]}), 1)

    def test_lists_by_name_and_number(self):
        by_name = firn.Scene.parse(BLOCK, {"snow.block.velocity": [0, -1]})
        by_number = firn.Scene.parse(BLOCK, snow={0: {"velocity": [0, -1]}})
        self.assertEqual(by_name.fingerprint, by_number.fingerprint)
        self.assertNotEqual(by_name.fingerprint, firn.Scene.parse(BLOCK).fingerprint)

    def test_none_takes_a_key_away(self):
        self.assertEqual(firn.Scene.parse(BLOCK, {"simulation.fps": None}).settings.fps, 24)

    def test_a_refused_change_leaves_the_scene(self):
        scene = firn.Scene.parse(BLOCK)
        before = scene.fingerprint
        with self.assertRaises(firn.Error) as caught:
            scene.set({"simulation.cell_size": -1})
        self.assertIs(caught.exception.status, firn.Status.BAD_SCENE)
        self.assertEqual(scene.fingerprint, before)
        scene.set({"simulation.frames": 9})
        self.assertEqual(scene.settings.frames, 9)

    def test_settings_in_words(self):
        settings = firn.Scene.parse(BLOCK, output={"formats": ["vtkhdf", "ply"]}).settings
        self.assertEqual((settings.dimensions, settings.frames, settings.transfer), (2, 4, "flip"))
        self.assertEqual(settings.gravity, (0, -9.81, 0))
        self.assertEqual(settings.rest_volume, "grid")
        self.assertEqual(settings.integrator, "explicit")
        self.assertEqual(set(settings.formats), {"vtkhdf", "ply"})


class Answers(Case):
    def test_estimate_is_what_check_says(self):
        path = self.write("ball.yaml", json.dumps(BALL))
        said = json.loads(self.program("check", path, "--json", "--backend", "ref"))
        found = firn.Scene(path).estimate(backend="ref")
        for key in ("particles", "occupied_cells", "mass", "memory_bytes", "stable_dt"):
            self.assertEqual(getattr(found, key), said[key], key)
        self.assertEqual(list(found.warnings), said["warnings"])

    def test_warnings(self):
        thin = firn.Scene.parse(BALL, {"snow.ball.sampling": {"particles_per_cell": 1}})
        estimate = thin.estimate()
        self.assertEqual(len(estimate.warnings), estimate.warning_count)
        self.assertGreater(estimate.warning_count, 0)
        self.assertIn("particles", " ".join(estimate.warnings))

    def test_collider_distance(self):
        scene = firn.Scene.parse(BALL)
        points = numpy.array([[[0, 1, 0], [5, -2, 1]]])
        self.assertTrue((scene.collider_distance("ground", points) == [[1, -2]]).all())
        self.assertEqual(scene.collider_distance(0, [0, 0.5, 0]), 0.5)
        with self.assertRaises((ValueError, IndexError)):
            scene.collider_distance("sky", points)
        with self.assertRaises(IndexError):
            scene.collider_distance(1, points)

    def test_closed(self):
        scene = firn.Scene.parse(BLOCK)
        simulation = firn.Simulation(scene)
        scene.close()
        scene.close()
        for use in (lambda: scene.name, lambda: scene.settings, lambda: scene.set({}), lambda: firn.Simulation(scene)):
            with self.assertRaisesRegex(ValueError, "this Scene is closed"):
                use()
        simulation.step()
        self.assertIn("closed", repr(scene))


if __name__ == "__main__":
    main()
