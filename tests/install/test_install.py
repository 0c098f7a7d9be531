"""An installed Firn, used from outside.

    test_install.py CMAKE BUILD_FOLDER SOURCE_FOLDER
"""

import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, BUILD, SOURCE = sys.argv[1:4]
if os.environ.get("FIRN_SANITIZE"):
    print("left out: a program from outside is not built with the sanitizer")
    sys.exit(77)


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prefix = os.path.realpath(tempfile.mkdtemp(prefix="firn_install_"))
        cls.addClassCleanup(shutil.rmtree, cls.prefix)
        run(CMAKE, "--install", BUILD, "--prefix", cls.prefix)
        (cls.library,) = glob.glob(f"{cls.prefix}/lib*/**/libfirn.so", recursive=True)
        (cls.module,) = glob.glob(f"{cls.prefix}/lib*/**/firn/__init__.py", recursive=True)

    def test_program(self):
        self.assertIn("firn 0", run(f"{self.prefix}/bin/firn", "--version"))

    def test_library_shows_only_its_functions(self):
        shown = run("nm", "-D", "--defined-only", "--format=posix", self.library).split("\n")
        names = [line.split()[0] for line in shown if line]
        self.assertIn("firn_sim_create", names)
        self.assertEqual([name for name in names if not name.startswith("firn_")], [])

    def test_c_program(self):
        folder = os.path.dirname(self.library)
        words = run("pkg-config", "--cflags", "--libs", "firn", PKG_CONFIG_PATH=f"{folder}/pkgconfig").split()
        program = f"{self.prefix}/minimal"
        run("cc", f"{SOURCE}/tests/example/minimal.c", *words, "-o", program)
        self.assertIn("frame 4", run(program, LD_LIBRARY_PATH=folder))

    def test_python(self):
        script = (
            "import firn; print(firn.library_path);"
            "sim = firn.Simulation({'simulation': {'cell_size': 0.1}, 'snow': [{'shape': {'sphere': {'center': [0, 0, 0], 'radius': 0.2}}}]});"
            "sim.step(); print(len(sim['position']) > 0)"
        )
        site = os.path.dirname(os.path.dirname(self.module))
        clean = {"PYTHONPATH": site, "PYTHONDONTWRITEBYTECODE": "1"}
        os.environ.pop("FIRN_LIBRARY", None)
        path, stepped = run("/usr/bin/python3", "-c", script, **clean).split()
        self.assertEqual(path, self.library)
        self.assertEqual(stepped, "True")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
