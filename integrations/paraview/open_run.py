"""A Firn run in ParaView: particles as small spheres, coloured by speed.

    pvpython open_run.py RUN -o speed.png                 one picture, of the last frame
    pvpython open_run.py RUN --frame 12 --colour J_P -o J_P.png
    pvpython open_run.py RUN --state run.pvsm             then: paraview run.pvsm

RUN is the folder of a run. Its frames.hdf.series tells ParaView the times; without it the frames are
numbered. Works with pvpython and pvbatch of ParaView 5.11 and newer. Without a screen, on Linux:
`xvfb-run pvpython open_run.py ...`, or a pvpython that was built to draw without one.
"""

import argparse
import glob
import os
import re
import sys

import paraview
from paraview import servermanager
from paraview.simple import *  # noqa: F403 (as ParaView's own traces do)
from paraview.vtk.util.numpy_support import vtk_to_numpy

UNITS = {"speed": "m/s", "density": "kg/m^3", "mass": "kg"}


def parse(words):
    parser = argparse.ArgumentParser(prog="pvpython open_run.py", description="Open a Firn run, coloured by speed.")
    parser.add_argument("run", help="folder with frame_0000.hdf, ...")
    parser.add_argument("-f", "--frame", type=int, help="which one [the last]")
    parser.add_argument("-o", "--output", metavar="FILE.png", help="save a picture")
    parser.add_argument("--state", metavar="FILE.pvsm", help="save all of it, for ParaView to open")
    parser.add_argument("--colour", default="speed", help="speed, density, J_P, mass or object [speed]")
    parser.add_argument("--range", nargs=2, type=float, metavar=("LOW", "HIGH"), help="of the colours [what the frame has]")
    parser.add_argument("--size", default="960x540", help="pixels, WxH [960x540]")
    parser.add_argument("--no-ground", action="store_true", help="leave out the plane y = 0")
    return parser.parse_args(words)


def open_run(folder):
    """The reader of all frames, and their numbers in the order of its time steps."""
    files = {int(re.search(r"frame_(\d+)\.hdf$", path)[1]): path for path in glob.glob(os.path.join(folder, "frame_*.hdf"))}
    if not files:
        raise FileNotFoundError(f"{folder}: no frames (frame_0000.hdf, ...); is it the folder of a run?")
    numbers = sorted(files)
    series = os.path.join(folder, "frames.hdf.series")
    reader = OpenDataFile(series if os.path.exists(series) else [files[number] for number in numbers])
    return reader, numbers


def particle_radius(reader):
    """Half the distance between particles at their usual density."""
    data = servermanager.Fetch(reader).GetPointData()
    mass, density = (vtk_to_numpy(data.GetArray(name)) for name in ("mass", "density"))
    volumes = mass / density
    return 0.6 * float(sorted(volumes)[len(volumes) // 2]) ** (1 / 3) if len(volumes) else 1.0


def show_particles(reader, view, radius, colour, limits):
    speed = Calculator(Input=reader, ResultArrayName="speed", Function="mag(velocity)")
    shown = Show(speed, view, "UnstructuredGridRepresentation")
    shown.SetRepresentationType("Point Gaussian")
    shown.ShaderPreset = "Sphere"
    shown.GaussianRadius = radius
    ColorBy(shown, ("POINTS", colour))
    table = GetColorTransferFunction(colour)
    table.ApplyPreset("Inferno (matplotlib)", True)
    if limits:
        table.RescaleTransferFunction(*limits)
    else:
        shown.RescaleTransferFunctionToDataRange(False, True)
    shown.SetScalarBarVisibility(view, True)
    bar = GetScalarBar(table, view)
    bar.Title = f"{colour} ({UNITS[colour]})" if colour in UNITS else colour
    bar.ComponentTitle = ""
    bar.LabelFormat = bar.RangeLabelFormat = "%.3g"
    bar.TitleColor = bar.LabelColor = [0.1, 0.1, 0.1]
    return speed


def show_ground(view, bounds):
    """The plane y = 0, much wider than the snow."""
    middle = [(bounds[0] + bounds[1]) / 2, (bounds[4] + bounds[5]) / 2]
    half = 8 * max(bounds[1] - bounds[0], bounds[5] - bounds[4])
    low, high = [m - half for m in middle], [m + half for m in middle]
    plane = Plane(Origin=[low[0], 0, low[1]], Point1=[high[0], 0, low[1]], Point2=[low[0], 0, high[1]])
    shown = Show(plane, view)
    shown.DiffuseColor = shown.AmbientColor = [0.62, 0.66, 0.72]


def place_camera(view, bounds):
    """From the front and a little above, with y up, as near as the snow allows."""
    middle = [(bounds[2 * k] + bounds[2 * k + 1]) / 2 for k in range(3)]
    view.CameraFocalPoint = middle
    view.CameraPosition = [middle[0] + 0.35, middle[1] + 0.25, middle[2] + 1]
    view.CameraViewUp = [0, 1, 0]
    view.ResetCamera(*bounds)
    view.GetActiveCamera().Dolly(1.35)  # the sphere around the box leaves room at its sides


def main(words):
    options = parse(words)
    paraview.simple._DisableFirstRenderCameraReset()
    reader, numbers = open_run(options.run)
    number = numbers[-1] if options.frame is None else options.frame
    if number not in numbers:
        raise ValueError(f"there is no frame {number}: the frames are {numbers[0]} to {numbers[-1]}")
    time = reader.TimestepValues[numbers.index(number)] if len(numbers) > 1 else 0
    GetAnimationScene().UpdateAnimationUsingDataTimeSteps()
    GetAnimationScene().AnimationTime = time
    UpdatePipeline(time=time, proxy=reader)

    view = CreateView("RenderView")
    view.ViewSize = [int(side) for side in options.size.split("x")]
    view.OrientationAxesVisibility = 0
    view.UseColorPaletteForBackground = 0
    view.Background = [0.87, 0.9, 0.94]
    view.ViewTime = time
    speed = show_particles(reader, view, particle_radius(reader), options.colour, options.range)
    bounds = speed.GetDataInformation().GetBounds()
    if not options.no_ground:
        show_ground(view, bounds)
    place_camera(view, bounds)
    Render(view)
    if options.state:
        SaveState(options.state)
    if options.output:
        SaveScreenshot(options.output, view, ImageResolution=view.ViewSize)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (OSError, ValueError) as failure:
        sys.exit(f"open_run.py: {failure}")
