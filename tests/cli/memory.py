"""What a run takes of memory, beside what `firn check` says."""

import json
import os
import subprocess

from harness import FIRN, Case, main

SCENE = """
name: block
simulation: {cell_size: 0.01, kernel: KERNEL, transfer: {type: TRANSFER}, fps: 20000, frames: 5}
snow:
  - shape: {box: {center: [0, 0.24, 0], size: [0.48, 0.48, 0.48]}}
    sampling: {particles_per_cell: 8, method: lattice}
colliders:
  - shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}
"""


class Memory(Case):
    def peak_bytes(self, *arguments):
        process = subprocess.Popen([FIRN, *arguments], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return 1024 * usage.ru_maxrss

    def test_prediction(self):
        """Frames follow each other so quickly that as many as may wait for the disk."""
        for kernel, transfer in (("cubic", "flip"), ("quadratic", "apic")):
            with self.subTest(kernel=kernel, transfer=transfer):
                scene = self.write("block.yaml", SCENE.replace("KERNEL", kernel).replace("TRANSFER", transfer))
                said = json.loads(self.firn("check", "--json", "--backend", "cpu", scene)[0])
                taken = self.peak_bytes("run", "--quiet", "--backend", "cpu", "-o", self.path(kernel), scene)
                self.assertGreater(said["particles"], 800000)
                self.assertAlmostEqual(said["memory_bytes"] / taken, 1, delta=0.1)


if __name__ == "__main__":
    main()
