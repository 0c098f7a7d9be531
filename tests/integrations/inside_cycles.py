"""Runs in Blender: draws a density volume with Cycles, by the camera, light and medium that it is told.

    blender -b -P inside_cycles.py -- WORDS.json SNOW.vdb OUT.exr

Nothing is left to Blender that would make it faster and the light less: steps are short, bounces many, and
bright samples are kept. Points and directions of WORDS.json have y up, as in a scene file.
"""

import json
import math
import sys

import bpy
from mathutils import Matrix, Vector

words, snow_path, picture_path = sys.argv[sys.argv.index("--") + 1 :]
with open(words, encoding="utf-8") as file:
    told = json.load(file)

bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
TURN = Matrix.Rotation(math.pi / 2, 4, "X")  # y up to z up


def point(x):
    return TURN @ Vector(x)


def add(name, data, material=None):
    made = bpy.data.objects.new(name, data)
    if material:
        data.materials.append(material)
    scene.collection.objects.link(made)
    return made


def new_material(name):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    material.node_tree.nodes.clear()
    return material, material.node_tree.nodes, material.node_tree.links


def snow_material():
    """Extinction s = scale x density for every colour, of which the albedo a is scattered: Cycles takes a
    scattering of s a from one node and an absorption of s (1 - a) from another."""
    material, nodes, links = new_material("snow")
    density, scale, both = (nodes.new(f"ShaderNode{kind}") for kind in ("Attribute", "Math", "AddShader"))
    density.attribute_name = "density"
    scale.operation = "MULTIPLY"
    scale.inputs[1].default_value = told["extinction"] / told["reference_density"]
    links.new(density.outputs["Fac"], scale.inputs[0])
    for place, kind in enumerate(("VolumeScatter", "VolumeAbsorption")):
        node = nodes.new(f"ShaderNode{kind}")
        node.inputs["Color"].default_value = (*told["albedo"], 1)
        links.new(scale.outputs[0], node.inputs["Density"])
        links.new(node.outputs[0], both.inputs[place])
        if kind == "VolumeScatter":
            node.inputs["Anisotropy"].default_value = told["mean_cosine"]
    links.new(both.outputs[0], nodes.new("ShaderNodeOutputMaterial").inputs["Volume"])
    return material


def matt_material(colour):
    material, nodes, links = new_material("ground")
    matt = nodes.new("ShaderNodeBsdfDiffuse")
    matt.inputs["Color"].default_value = (*colour, 1)
    links.new(matt.outputs[0], nodes.new("ShaderNodeOutputMaterial").inputs["Surface"])
    return material


def add_snow():
    volume = bpy.data.volumes.new("snow")
    volume.filepath = snow_path
    volume.render.step_size = told["step"]
    volume.render.space = "WORLD"
    # Cycles shows a voxel's value half a voxel farther along each axis than OpenVDB has it.
    aside = Matrix.Translation([-told["voxel"] / 2] * 3)
    add("snow", volume, snow_material()).matrix_world = TURN @ aside


def add_ground():
    far, mesh = 100, bpy.data.meshes.new("ground")
    mesh.from_pydata([(-far, -far, 0), (far, -far, 0), (far, far, 0), (-far, far, 0)], [], [(0, 1, 2, 3)])
    add("ground", mesh, matt_material(told["ground"]))


def add_surround():
    """The middle of Cycles' latitude-longitude maps is seen towards its +x, which is ours."""
    world = scene.world = bpy.data.worlds.new("surround")
    world.use_nodes = True
    picture = world.node_tree.nodes.new("ShaderNodeTexEnvironment")
    picture.image = bpy.data.images.load(told["environment"])
    picture.image.colorspace_settings.name = "Linear"
    world.node_tree.links.new(picture.outputs[0], world.node_tree.nodes["Background"].inputs["Color"])


def add_camera():
    lens = bpy.data.cameras.new("camera")
    lens.sensor_fit = "VERTICAL"
    lens.angle = math.radians(told["field_of_view"])
    camera = scene.camera = add("camera", lens)
    eye, target = point(told["position"]), point(told["target"])
    camera.location = eye
    camera.rotation_euler = (eye - target).to_track_quat("Z", "Y").to_euler()


def set_cycles():
    render, cycles = scene.render, scene.cycles
    render.engine, cycles.device = "CYCLES", "CPU"
    render.resolution_x, render.resolution_y = told["size"]
    render.threads_mode, render.threads = "FIXED", told["threads"]
    render.image_settings.file_format, render.image_settings.color_depth = "OPEN_EXR", "32"
    render.filepath = picture_path
    cycles.samples, cycles.use_adaptive_sampling, cycles.use_denoising = told["samples"], False, False
    for kind in ("max", "diffuse", "volume", "transparent_max"):
        setattr(cycles, f"{kind}_bounces", 1024)
    cycles.volume_step_rate, cycles.volume_max_steps = 1, 65536
    cycles.sample_clamp_direct = cycles.sample_clamp_indirect = cycles.light_sampling_threshold = 0
    cycles.pixel_filter_type = "BOX"
    cycles.filter_width = 1


add_snow()
add_ground()
add_surround()
add_camera()
set_cycles()
bpy.ops.render.render(write_still=True)
