"""ParaView: integrations/paraview/open_run.py, run by pvpython or pvbatch on a display of its own."""

import os
import shutil
import subprocess
import sys

import numpy
from harness import INTEGRATIONS, SOURCE, Case, main, picture

SCRIPT = os.path.join(INTEGRATIONS, "paraview", "open_run.py")
# Where scripts/setup unpacks Debian's python3-paraview, which cannot be installed beside python3-vtk9.
MODULES = os.path.join(SOURCE, "build", "paraview", "usr", "lib", "python3", "dist-packages")


def find_paraview():
    """(program, PYTHONPATH) that can import paraview.simple."""
    for program, modules in (("pvpython", ""), ("pvbatch", ""), ("pvbatch", os.environ.get("FIRN_PARAVIEW", MODULES))):
        if shutil.which(program):
            works = subprocess.run([program, "/dev/stdin"], input="import paraview.simple", text=True,
                                   capture_output=True, env={**os.environ, "PYTHONPATH": modules})
            if works.returncode == 0 and "Error" not in works.stderr:
                return program, modules
    return None


PARAVIEW = find_paraview()
if not PARAVIEW or not shutil.which("Xvfb"):
    print("left out: no ParaView with Python, or no Xvfb")
    sys.exit(77)


class ParaView(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        read, write = os.pipe()
        # Without -noreset it starts anew, and answers nobody for a while, whenever a program leaves it.
        server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-noreset", "-screen", "0", "1280x1024x24"],
                                  pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(server.wait)
        cls.addClassCleanup(server.terminate)
        os.close(write)
        with os.fdopen(read) as number:
            cls.display = f":{number.readline().strip()}"

    def paraview(self, *words, code=0, script=SCRIPT):
        program, modules = PARAVIEW
        return self.command(program, script, *words, code=code, PYTHONPATH=modules, DISPLAY=self.display)

    def test_speed(self):
        self.paraview(self.run_folder, "--frame", 0, "-o", "speed.png", "--size", "160x120", "--range", 0, 6.4)
        pixels = picture(self.path("speed.png"))
        self.assertEqual(pixels.shape, (120, 160, 3))
        # All of it moves with (1, -3, 0): one colour, the middle of Inferno, which is red.
        red, green, blue = numpy.median(pixels[54:66, 74:86].reshape(-1, 3), axis=0)
        self.assertGreater(red, 0.4)
        self.assertGreater(red, 2 * green)
        self.assertGreater(red, 1.5 * blue)

    def test_times_from_the_series_and_without_it(self):
        times = self.path("times.py")
        with open(times, "w", encoding="utf-8") as file:
            file.write(f"import sys\nsys.path.insert(0, {os.path.dirname(SCRIPT)!r})\nimport open_run\n"
                       "reader, numbers = open_run.open_run(sys.argv[1])\n"
                       "print('TIMES', list(reader.TimestepValues), numbers)\n")
        self.assertIn(f"TIMES {[k / 120 for k in range(3)]} [0, 1, 2]", self.paraview(self.run_folder, script=times))
        shutil.copytree(self.run_folder, self.path("plain"))
        os.remove(self.path("plain", "frames.hdf.series"))
        self.assertIn("TIMES [0.0, 1.0, 2.0] [0, 1, 2]", self.paraview("plain", script=times))

    def test_state(self):
        self.paraview(self.run_folder, "--state", "ball.pvsm", "--colour", "density", "--size", "64x48")
        load = self.path("load.py")
        with open(load, "w", encoding="utf-8") as file:
            file.write("from paraview.simple import *\nLoadState('ball.pvsm')\n"
                       "SaveScreenshot('state.png', GetActiveViewOrCreate('RenderView'))\n"
                       "print('SOURCES', sorted(name for name, _ in GetSources()))\n")
        self.assertIn("Calculator1", self.paraview(script=load))
        self.assertGreater(numpy.ptp(picture(self.path("state.png"))), 0.2)

    def test_errors(self):
        os.makedirs(self.path("empty"), exist_ok=True)
        self.assertIn("is it the folder of a run?", self.paraview("empty", "-o", "x.png", code=1))
        self.assertIn("there is no frame 9", self.paraview(self.run_folder, "--frame", 9, "-o", "x.png", code=1))


if __name__ == "__main__":
    main()
