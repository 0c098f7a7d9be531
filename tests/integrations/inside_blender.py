"""Runs in Blender: imports a run through the menu's operator and writes down what Blender has then.

    blender -b -P inside_blender.py -- IMPORT_SCRIPT RUN OUT.json
"""

import importlib.util
import json
import sys

import bpy
from mathutils import Vector

script, run, out = sys.argv[sys.argv.index("--") + 1 :]
spec = importlib.util.spec_from_file_location("import_firn", script)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

bpy.ops.wm.read_factory_settings(use_empty=True)
module.register()
bpy.ops.import_scene.firn(filepath=f"{run}/frame_0001.vdb")
scene = bpy.context.scene
snow = scene.objects["snow"]


def box(number):
    scene.frame_set(number)
    now = snow.evaluated_get(bpy.context.evaluated_depsgraph_get())
    corners = [now.matrix_world @ Vector(corner) for corner in now.bound_box]
    return [[pick(axis) for axis in zip(*corners)] for pick in (min, max)]


nodes = {node.bl_idname: node for node in snow.data.materials[0].node_tree.nodes}
scatter = nodes["ShaderNodeVolumeScatter"]
snow.data.grids.load()
seen = {
    "objects": [thing.type for thing in scene.objects],
    "grids": {grid.name: grid.data_type for grid in snow.data.grids},
    "frames": [scene.frame_start, scene.frame_end],
    "fps": scene.render.fps / scene.render.fps_base,
    "place": list(snow.matrix_world.translation),
    "boxes": [box(number) for number in range(3)],
    "shader": {
        "scale": nodes["ShaderNodeMath"].inputs[1].default_value,
        "attribute": nodes["ShaderNodeAttribute"].attribute_name,
        "anisotropy": scatter.inputs["Anisotropy"].default_value,
        "colour": list(scatter.inputs["Color"].default_value)[:3],
    },
}
bpy.ops.import_mesh.ply(filepath=f"{run}/frame_0002.ply")
seen["ply"] = [list(vertex.co) for vertex in bpy.context.object.data.vertices]
module.unregister()
with open(out, "w", encoding="utf-8") as file:
    json.dump(seen, file)
