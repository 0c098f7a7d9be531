"""The examples of docs/python.md, run as they stand."""

import os
import re
import sys

from harness import Case, main

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

try:
    import matplotlib

    assert matplotlib
except ImportError as missing:
    print(f"left out: {missing}")
    sys.exit(77)


def examples():
    with open(os.path.join(SOURCE, "docs", "python.md"), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.M | re.S)


class Examples(Case):
    def setUp(self):
        super().setUp()
        os.symlink(os.path.join(SOURCE, "scenes"), self.path("scenes"))

    def run_example(self, number):
        return self.python(examples()[number], MPLBACKEND="Agg", MPLCONFIGDIR=self.home)[0]

    def size(self, name):
        return os.path.getsize(self.path(name))

    def test_there_are_three(self):
        self.assertEqual(len(examples()), 3)

    def test_a_run(self):
        lines = self.run_example(0).splitlines()
        self.assertEqual([line.split()[0] for line in lines], ["1", "2", "3", "4"])
        self.assertEqual(lines[3].split()[1], "0.167")
        self.assertGreater(self.size("frame_0004.hdf"), 10_000)
        self.assertGreater(self.size("state.h5"), 10_000)

    def test_particles_of_your_own(self):
        speed = float(self.run_example(1).split()[0])
        self.assertTrue(1 < speed < 6, speed)
        self.assertGreater(self.size("cube.png"), 5_000)

    def test_a_plot(self):
        self.run_example(2)
        self.assertGreater(self.size("presets.png"), 20_000)


if __name__ == "__main__":
    main()
