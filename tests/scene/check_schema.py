"""The schema is a valid draft 2020-12 schema, accepts every committed scene and refuses wrong ones.

usage: check_schema.py SOURCE_DIR      exit 77 (skipped) without python3-jsonschema and python3-yaml
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

root = pathlib.Path(sys.argv[1])
schema = json.loads((root / "docs/scene.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)

page = (root / "docs/scene.md").read_text()
texts = {"docs/scene.md": page.split("```yaml\n")[1].split("```")[0]}
for path in sorted(root.glob("scenes/*.yaml")):
    texts[path.name] = path.read_text()
scenes = {name: yaml.safe_load(text) for name, text in texts.items()}
for name, scene in scenes.items():
    for error in validator.iter_errors(scene):
        sys.exit(f"{name}: {error.json_path}: {error.message}")

assert len(scenes) >= 4, "scenes are missing"
good = scenes["docs/scene.md"]


def refuses(change):
    scene = copy.deepcopy(good)
    change(scene)
    if validator.is_valid(scene):
        sys.exit(f"accepted: {scene}")


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(scene):
        for step in path:
            scene = scene[step]
        scene[last] = value

    return change


refuses(put("colour", "red"))
refuses(put("simulation", "cell_size", 0))
refuses(put("simulation", "cell_size", "10 cm"))
refuses(put("simulation", "time_step", "fast"))
refuses(put("simulation", "transfer", "pic"))
refuses(put("simulation", "kernel", "linear"))
refuses(put("snow", []))
refuses(put("snow", 0, "shape", {}))
refuses(put("snow", 0, "shape", "box", {"center": [0, 0, 0], "size": [1, 1, 1]}))
refuses(put("snow", 0, "velocity", [0]))
refuses(put("materials", "packed", "density", -1))
refuses(put("output", "formats", ["gltf"]))
refuses(lambda scene: scene.pop("simulation"))
refuses(lambda scene: scene["simulation"].pop("cell_size"))
refuses(lambda scene: scene["snow"][0].pop("shape"))
for accepted in (put("simulation", "transfer", "apic"), put("simulation", "transfer", "mls"),
                 put("simulation", "time_step", "auto"), put("simulation", "time_step", 1e-4), put("materials", "packed", "wet"),
                 put("snow", 1, "shape", "rotate", 45)):
    scene = copy.deepcopy(good)
    accepted(scene)
    validator.validate(scene)
print(f"{len(scenes)} scenes agree with the schema")
