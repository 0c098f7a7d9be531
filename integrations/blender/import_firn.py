"""A Firn run in Blender: a sequence of snow volumes with a shader, a ground, a sun, a sky and a camera.

From the command line, one frame rendered by Cycles on the processor:

    firn convert RUN --to vdb
    blender -b -P import_firn.py -- RUN --frame 12 -o snow.png

In Blender: open this file in the text editor and press Run Script, or install it as an add-on
(Preferences > Add-ons > Install); both add File > Import > Firn run (.vdb).

The volumes are those that `firn convert` or a scene's `output.formats` writes: a grid `density` in
kg/m^3, in metres, with y up (Blender's up is z: the volume is turned; with `--up z` it is taken as
written). For Blender 3.4 and newer; nothing but Blender is needed.
"""

bl_info = {
    "name": "Firn run",
    "description": "Import a Firn run as a sequence of snow volumes, ready to render",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "File > Import > Firn run (.vdb)",
    "category": "Import-Export",
}

import argparse
import json
import math
import os
import re
import sys

import bpy
from mathutils import Matrix, Vector

# Snow as Stomakhin et al. (2013) rendered it: light is scattered EXTINCTION times a metre where the
# density is that of the reference, mostly forwards, and the blue part of it a little more.
EXTINCTION = 724.0
ANISOTROPY = 0.5
COLOUR = (0.9, 0.95, 1.0)
REFERENCE_DENSITY = 400.0

# ---- The run ----------------------------------------------------------------------------------------


def find_frames(path):
    """{number: path} of the volumes of a run folder, or of the folder of one of its files."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{path}: no such folder")
    names = (re.fullmatch(r"frame_(\d+)\.vdb", name) for name in os.listdir(folder))
    frames = {int(name[1]): os.path.join(folder, name[0]) for name in names if name}
    if not frames:
        raise FileNotFoundError(f"{folder}: no volumes (frame_0000.vdb, ...): firn convert {folder} --to vdb")
    return dict(sorted(frames.items()))


def frames_per_second(path):
    """From the run's log, or None."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    try:
        with open(os.path.join(folder, "log.jsonl"), encoding="utf-8") as file:
            entry = json.loads(file.readlines()[-1])
        return entry["frame"] / entry["time"]
    except (OSError, ValueError, LookupError, ZeroDivisionError):
        return None


# ---- What is built of it ----------------------------------------------------------------------------


def snow_material(reference_density=REFERENCE_DENSITY):
    """Scattering in proportion to the density grid: EXTINCTION where it is the reference density."""
    material = bpy.data.materials.new("Firn snow")
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    density = nodes.new("ShaderNodeAttribute")
    density.attribute_name = "density"
    scale = nodes.new("ShaderNodeMath")
    scale.operation = "MULTIPLY"
    scale.label = "1/m per kg/m^3"
    scale.inputs[1].default_value = EXTINCTION / reference_density
    scatter = nodes.new("ShaderNodeVolumeScatter")
    scatter.inputs["Color"].default_value = (*COLOUR, 1)
    scatter.inputs["Anisotropy"].default_value = ANISOTROPY
    output = nodes.new("ShaderNodeOutputMaterial")
    links.new(density.outputs["Fac"], scale.inputs[0])
    links.new(scale.outputs[0], scatter.inputs["Density"])
    links.new(scatter.outputs[0], output.inputs["Volume"])
    for place, node in enumerate((density, scale, scatter, output)):
        node.location = (200 * place, 0)
    return material


def turn(up):
    """From the axes of the run to Blender's: y becomes z."""
    return Matrix.Rotation(math.pi / 2, 4, "X") if up == "y" else Matrix.Identity(4)


def add_object(collection, name, data, material=None):
    made = bpy.data.objects.new(name, data)
    if material:
        data.materials.append(material)
    collection.objects.link(made)
    return made


def half_a_voxel_back(volume):
    """The density of a file belongs to the nodes of its grid; Cycles shows it half a voxel farther along
    each axis, so that snow would float above its ground."""
    voxel = volume.grids["density"].matrix_object.to_scale() if "density" in volume.grids.keys() else (0, 0, 0)
    return Matrix.Translation([-side / 2 for side in voxel])


def add_snow(collection, frames, up="y", reference_density=REFERENCE_DENSITY):
    """The volume, which shows frame_0012.vdb at frame 12 of the timeline. Blender plays sequences
    without gaps only: of another run it shows one frame (see show_frame)."""
    first, last = min(frames), max(frames)
    volume = bpy.data.volumes.new("snow")
    volume.filepath = frames[first]
    if len(frames) == last - first + 1:
        volume.is_sequence = True
        volume.frame_start = first
        volume.frame_offset = first - 1
        volume.frame_duration = len(frames)
        volume.sequence_mode = "EXTEND"
    volume.grids.load()
    if "velocity" in volume.grids.keys():
        volume.velocity_grid, volume.velocity_unit = "velocity", "SECOND"
    snow = add_object(collection, "snow", volume, snow_material(reference_density))
    snow.matrix_world = turn(up) @ half_a_voxel_back(volume)
    return snow


def show_frame(scene, snow, frames, number):
    if number not in frames:
        raise ValueError(f"there is no frame {number}: the volumes are {min(frames)} to {max(frames)}")
    if not snow.data.is_sequence:
        snow.data.filepath = frames[number]
    scene.frame_set(number)


def rough_material(name, colour):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    surface = material.node_tree.nodes["Principled BSDF"]
    surface.inputs["Base Color"].default_value = (*colour, 1)
    surface.inputs["Roughness"].default_value = 0.9
    return material


def add_ground(collection, height, size):
    mesh = bpy.data.meshes.new("ground")
    corners = [(x * size, y * size, height) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
    return add_object(collection, "ground", mesh, rough_material("Firn ground", (0.05, 0.056, 0.068)))


def add_bodies(collection, paths, up):
    """Obstacles from OBJ files, in the coordinates of the scene file."""
    material = rough_material("Firn body", (0.2, 0.13, 0.09))
    for path in paths:
        vertices, faces = [], []
        with open(path, encoding="utf-8") as file:
            for words in map(str.split, file):
                if words[:1] == ["v"]:
                    vertices.append(tuple(map(float, words[1:4])))
                elif words[:1] == ["f"]:
                    numbers = (int(word.split("/")[0]) for word in words[1:])
                    faces.append([n - 1 if n > 0 else len(vertices) + n for n in numbers])
        mesh = bpy.data.meshes.new(os.path.basename(path))
        mesh.from_pydata(vertices, [], faces)
        body = add_object(collection, mesh.name, mesh, material)
        body.matrix_world = turn(up)


def add_light(collection, scene):
    """A low sun from the left, a little behind the snow, and the sky that goes with it."""
    elevation, azimuth = math.radians(32), math.radians(165)
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle, sun.color = 6, math.radians(0.5), (1, 0.93, 0.84)
    towards = Vector((math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)))
    add_object(collection, "sun", sun).rotation_euler = towards.to_track_quat("Z", "Y").to_euler()
    world = bpy.data.worlds.new("Firn sky")
    world.use_nodes = True
    sky = world.node_tree.nodes.new("ShaderNodeTexSky")
    sky.sky_type, sky.sun_disc = "NISHITA", False
    sky.sun_elevation, sky.sun_rotation = elevation, math.pi / 2 - azimuth
    background = world.node_tree.nodes["Background"]
    background.inputs["Strength"].default_value = 0.15
    world.node_tree.links.new(sky.outputs[0], background.inputs["Color"])
    scene.world = world


def bounds(scene, snow, frames, numbers):
    """The box around the snow of some frames."""
    points = []
    for number in numbers:
        show_frame(scene, snow, frames, number)
        seen = snow.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points += [seen.matrix_world @ Vector(corner) for corner in seen.bound_box]
    low, high = (Vector(pick(axis) for axis in zip(*points)) for pick in (min, max))
    return low, high


def add_camera(collection, scene, low, high):
    """Looks slightly down at the whole box from the front, as near as it can."""
    size = (high - low).length
    camera = bpy.data.cameras.new("camera")
    camera.clip_start, camera.clip_end = size / 100, size * 1000
    viewed = scene.camera = add_object(collection, "camera", camera)
    viewed.rotation_euler = Vector((0.35, -1, 0.4)).to_track_quat("Z", "Y").to_euler()
    bpy.context.view_layer.update()
    corners = [axis[pick] for x in (0, 1) for y in (0, 1) for z in (0, 1)
               for axis, pick in (((low.x, high.x), x), ((low.y, high.y), y), ((low.z, high.z), z))]
    viewed.location, _ = viewed.camera_fit_coords(bpy.context.evaluated_depsgraph_get(), corners)


def set_cycles(scene, samples):
    """Snow is white because light leaves it after many bounces: with few it looks like ash."""
    scene.render.engine = "CYCLES"
    cycles = scene.cycles
    cycles.device = "CPU"
    cycles.samples = samples
    cycles.max_bounces = cycles.volume_bounces = 64
    cycles.sample_clamp_indirect = 2
    denoisers = cycles.bl_rna.properties["denoiser"].enum_items.keys()
    cycles.use_denoising = bool(denoisers)
    scene.view_settings.view_transform = "Filmic"
    scene.view_settings.look = "Medium High Contrast"
    scene.view_settings.exposure = 0.4


def import_run(scene, path, up="y", reference_density=REFERENCE_DENSITY, ground=0.0, bodies=(), fit=None, samples=128):
    """Everything, into a new collection of `scene`; the camera holds frame `fit`, or the first and the
    last. Returns the snow and its frames."""
    frames = find_frames(path)
    collection = bpy.data.collections.new("Firn")
    scene.collection.children.link(collection)
    snow = add_snow(collection, frames, up, reference_density)
    low, high = bounds(scene, snow, frames, {min(frames), max(frames)} if fit is None else {fit})
    low.z, high.z = min(low.z, ground), max(high.z, ground)
    add_ground(collection, ground, 50 * (high - low).length)
    add_bodies(collection, bodies, up)
    add_light(collection, scene)
    add_camera(collection, scene, low, high)
    set_cycles(scene, samples)
    scene.frame_start, scene.frame_end = min(frames), max(frames)
    if rate := frames_per_second(path):
        scene.render.fps, scene.render.fps_base = round(rate), round(rate) / rate
    return snow, frames


# ---- From the command line --------------------------------------------------------------------------


def parse(words):
    parser = argparse.ArgumentParser(
        prog="blender -b -P import_firn.py --", description="Render one frame of a Firn run with Cycles."
    )
    parser.add_argument("run", help="folder with frame_0000.vdb, ... (firn convert RUN --to vdb)")
    parser.add_argument("-f", "--frame", type=int, help="which one [the last]")
    parser.add_argument("-o", "--output", help="the picture, .png or .exr [only build the scene]")
    parser.add_argument("--save", metavar="FILE.blend", help="keep the scene, to go on in Blender")
    parser.add_argument("--samples", type=int, default=128, help="a pixel [128]")
    parser.add_argument("--size", default="960x540", help="pixels, WxH [960x540]")
    parser.add_argument("--fit", choices=("all", "frame"), default="all", help="what the camera holds [all]")
    parser.add_argument("--ground", type=float, default=0.0, metavar="HEIGHT", help="of the ground [0]")
    parser.add_argument("--body", action="append", default=[], metavar="FILE.obj", help="an obstacle to draw")
    parser.add_argument("--up", choices=("y", "z"), default="y", help="up axis of the files [y]")
    parser.add_argument("--reference-density", type=float, default=REFERENCE_DENSITY, metavar="KG",
                        help="kg/m^3 at which snow scatters light 724 times a metre [400]")
    parser.add_argument("--threads", type=int, default=0, help="[all]")
    return parser.parse_args(words)


def command_line(words):
    options = parse(words)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    render = scene.render
    render.resolution_x, render.resolution_y = (int(side) for side in options.size.split("x"))
    frames = find_frames(options.run)
    number = max(frames) if options.frame is None else options.frame
    fit = number if options.fit == "frame" else None
    snow, frames = import_run(scene, options.run, options.up, options.reference_density, options.ground,
                              options.body, fit, options.samples)
    show_frame(scene, snow, frames, number)
    if options.save:
        bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(options.save))
    if options.output:
        render.threads_mode, render.threads = ("FIXED", options.threads) if options.threads else ("AUTO", 1)
        is_exr = options.output.endswith(".exr")
        render.image_settings.file_format = "OPEN_EXR" if is_exr else "PNG"
        render.filepath = os.path.abspath(options.output)
        bpy.ops.render.render(write_still=True)


# ---- In Blender -------------------------------------------------------------------------------------


class IMPORT_SCENE_OT_firn(bpy.types.Operator):
    """Import a Firn run as a sequence of snow volumes, with a ground, a sun, a sky and a camera"""

    bl_idname = "import_scene.firn"
    bl_label = "Import Firn run"
    bl_options = {"REGISTER", "UNDO"}

    filepath: bpy.props.StringProperty(subtype="FILE_PATH")
    filter_glob: bpy.props.StringProperty(default="*.vdb", options={"HIDDEN"})
    up: bpy.props.EnumProperty(name="Up axis", items=[("y", "Y", "as Firn writes it"), ("z", "Z", "of --up z")])
    reference_density: bpy.props.FloatProperty(name="Reference density", default=REFERENCE_DENSITY, min=1)
    ground: bpy.props.FloatProperty(name="Ground height", default=0, subtype="DISTANCE")

    def invoke(self, context, event):
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context):
        try:
            import_run(context.scene, self.filepath, self.up, self.reference_density, self.ground)
        except (OSError, ValueError) as failure:
            self.report({"ERROR"}, str(failure))
            return {"CANCELLED"}
        return {"FINISHED"}


def menu(self, context):
    self.layout.operator(IMPORT_SCENE_OT_firn.bl_idname, text="Firn run (.vdb)")


def register():
    bpy.utils.register_class(IMPORT_SCENE_OT_firn)
    bpy.types.TOPBAR_MT_file_import.append(menu)


def unregister():
    bpy.types.TOPBAR_MT_file_import.remove(menu)
    bpy.utils.unregister_class(IMPORT_SCENE_OT_firn)


if __name__ == "__main__":
    if "--" in sys.argv:
        try:
            command_line(sys.argv[sys.argv.index("--") + 1 :])
        except (OSError, ValueError, RuntimeError) as failure:
            sys.exit(f"import_firn.py: {failure}")
    else:
        register()
        bpy.ops.import_scene.firn("INVOKE_DEFAULT")
