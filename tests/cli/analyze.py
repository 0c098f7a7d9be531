"""`firn analyze --quick`: its files, its conclusions, stopping and going on."""

import csv
import os
import re
import signal
import time

import numpy

from harness import Case, main

METHODS = ["textbook float", "textbook double", "cpu (float)", "ref (double)"]
CONCLUSIONS = {
    "stability": {
        "node kick: exponent in the offset",
        "felt gradient: exponent in the offset",
        "growth up to 0.6 h/c",
        "growth from 0.8 h/c on",
    }
    | {f"{what} in flight: {method}" for what in ["energy error", "strain"] for method in METHODS},
    "limits": {
        "hardening by its formula",
        "column height: the paper's snow",
        "column height: lowest",
        "column height: highest",
        "landing: nu of 0.35 by 0.2",
    },
    "scaling": {
        "density: more particles",
        "density: smaller cells",
        "density: same particles in other cells",
        "density: more particles without correction",
        "density: smaller cells without correction",
        "resolution: centre at impact",
        "resolution: rest height",
        "filling: 8 a cell",
        "filling: 0.1 a cell",
    },
    "runtime": {
        "slope in particles: ref",
        "slope in particles: cpu",
        "linear in colliders: ref",
        "far colliders are free: cpu",
    },
}


# Times of a machine that does something else as well say little.
IDLE = os.environ.get("FIRN_IDLE") == "1"


def rows(path):
    """Rows of a table as (label, numbers...), without its two lines of heading."""
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file))[2:]
    return [(line[0], *map(float, line[1:])) for line in lines]


def slope(points):
    x, y = numpy.log(numpy.array(points, float)).T
    return numpy.polyfit(x, y, 1)[0]


class Analyze(Case):
    def conclusions(self, folder):
        with open(f"{folder}/conclusions.csv", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def assert_study(self, study):
        folder = self.path("out")
        self.firn("analyze", study, "--quick", "-o", folder)
        found = [row for row in self.conclusions(folder) if row["study"] == study]
        names = {row["name"] for row in found if not row["name"].endswith("cuda")}
        self.assertEqual(names, CONCLUSIONS[study])
        for row in found:
            print(f"{study}: {row['name']}: {row['value']}")
            held = float(row["low"]) <= float(row["value"]) <= float(row["high"])
            self.assertEqual(row["holds"], str(int(held)), row)
            if study != "runtime" or IDLE:
                self.assertTrue(held, row)
        self.assert_report(folder)
        return folder

    def assert_report(self, folder):
        """One file that needs no other: every figure is in it, and nothing is loaded."""
        with open(f"{folder}/report.html", encoding="utf-8") as file:
            page = file.read()
        figures = [name for name in os.listdir(folder) if name.endswith(".svg")]
        self.assertGreater(len(figures), 0)
        self.assertEqual(page.count("<svg"), len(figures))
        self.assertEqual(page.count("</svg>"), len(figures))
        self.assertIsNone(re.search(r'(src|href)="(?!#)|url\(|@import', page))
        for role in ["Asked", "Done", "Answer", "The thesis"]:
            self.assertIn(f">{role}</div>", page)
        for word in ["nan ", "inf ", "(null)"]:
            self.assertNotIn(word, re.sub(r"<svg.*?</svg>", "", page, flags=re.S))
        self.assertEqual([name for name in os.listdir(folder) if name.endswith(".tmp")], [])

    def test_stability(self):
        folder = self.assert_study("stability")
        for label, _, energy, strain, _ in rows(f"{folder}/stability_drift.csv"):
            limit = 1e-4 if "float" in label else 1e-12
            self.assertLess(max(energy, strain), limit, label)
        found = dict((row[0], row[1:]) for row in rows(f"{folder}/stability_history.csv"))
        self.assertGreater(max(found["ref (double); 0.75"]), 1e-2)  # the loop, shown
        self.assertLess(max(found["ref (double); 0.587"]), 1e-12)  # and cured

    def test_limits(self):
        folder = self.assert_study("limits")
        usual = [r for r in rows(f"{folder}/limits_columns.csv") if r[:2] == ("theta_c", 0.025)]
        expected = 0.025 * (1.4e5 * 0.8 / (1.2 * 0.6)) / (400 * 9.81)  # theta_c (lambda + 2 mu) / (rho g)
        self.assertAlmostEqual(usual[0][3] / expected, 1, delta=0.15)

    def test_scaling(self):
        folder = self.assert_study("scaling")
        found = [r for r in rows(f"{folder}/scaling_density.csv") if r[0] == "more particles; corrected"]
        densities = [r[2] for r in found]
        self.assertEqual(len(densities), 3)
        self.assertLess(max(densities) / min(densities), 1.01)
        for r in found:  # in the block of 0.4 m x 0.4 m there is what was asked for
            self.assertAlmostEqual(r[4], 400 * 0.4 * 0.4, delta=1e-4)

    def test_runtime(self):
        folder = self.assert_study("runtime")
        for backend, settled in [("ref", 1000), ("cpu", 4000)]:
            points = [(r[1], r[3]) for r in rows(f"{folder}/runtime_particles.csv") if r[0] == backend]
            large = [point for point in points if point[0] >= settled]
            self.assertGreaterEqual(len(large), 5)
            self.assertAlmostEqual(slope(large), 1, delta=0.1 if IDLE else 0.6, msg=backend)


class Stopping(Case):
    def test_goes_on_where_it_stopped(self):
        folder = self.path("out")
        process = self.start("analyze", "runtime", "--quick", "-o", folder)
        table = f"{folder}/runtime_filling.csv"
        self.wait_for(table, process)
        while len(rows(table)) < 2:
            self.assertIsNone(process.poll(), "ended before it could be stopped")
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)
        self.assertIn("the same command goes on", err)
        self.assertFalse(os.path.exists(f"{folder}/report.html"))
        before = rows(table)
        _, err = self.firn("analyze", "runtime", "--quick", "-o", folder)
        self.assertEqual(rows(table)[: len(before)], before)
        self.assertTrue(os.path.exists(f"{folder}/report.html"))

        # A row that a kill cut in two is measured again; the others are kept.
        with open(table, "rb+") as file:
            file.truncate(os.path.getsize(table) - 5)
        _, err = self.firn("analyze", "runtime", "--quick", "-o", folder)
        self.assertIn("runtime    1 measurements", err)
        self.assertEqual(rows(table)[: len(before)], before)
        _, err = self.firn("analyze", "runtime", "--quick", "-o", folder)
        self.assertNotIn("measurements", err)


class Mistakes(Case):
    def test_unknown_study(self):
        _, err = self.firn("analyze", "runtim", code=2)
        self.assertIn("unknown study 'runtim'; did you mean 'runtime'?", err)

    def test_without_gnuplot(self):
        environment = dict(os.environ, PATH=self.home)
        _, err = self.firn("analyze", "runtime", "--quick", "-o", self.path("out"), code=74, env=environment)
        self.assertIn("apt install gnuplot-nox", err)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_folder_that_cannot_be(self):
        self.write("file", "")
        self.firn("analyze", "--quick", "-o", self.path("file", "out"), code=74)


if __name__ == "__main__":
    main()
