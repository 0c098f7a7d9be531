"""SIGKILL at random moments, again and again: what is on disk is whole, and the end has the same bits."""

import glob
import os
import random
import time

from harness import LONG, Case, leftovers, main, state


class Killed(Case):
    def assert_whole_files(self, folder):
        for path in glob.glob(f"{folder}/frame_*.hdf") + glob.glob(f"{folder}/checkpoint*.h5"):
            if not path.endswith(".tmp"):
                state(path)
        checkpoints = [f"{folder}/checkpoint.h5", f"{folder}/checkpoint_previous.h5"]
        if glob.glob(f"{folder}/frame_*.hdf"):
            self.assertTrue(any(map(os.path.exists, checkpoints)))

    def kill_until_done(self, folder, whole, *options):
        """Returns how many lives it took."""
        chance = random.Random(7)
        for life in range(1, 400):
            process = self.start("run", self.scene, "-o", folder, *options)
            # Longer and longer, so that it ends on a machine of any speed.
            time.sleep(chance.random() * whole * (0.3 + 0.02 * life))
            process.kill()
            _, err = process.communicate()
            self.assertIn(process.returncode, (0, -9), err)
            if os.path.isdir(self.path(folder)):
                self.assert_whole_files(self.path(folder))
            if process.returncode == 0:
                return life
        self.fail("does not get on")

    def test_same_bits_after_many_deaths(self):
        self.scene = self.write("long.yaml", LONG)
        begin = time.time()
        self.firn("run", self.scene, "-o", "whole")
        whole = time.time() - begin
        for folder, every in (("frames", 0), ("moments", 0.0003)):
            lives = self.kill_until_done(folder, whole, "--checkpoint-every", every)
            self.firn("run", self.scene, "-o", folder)
            self.assert_same_run(self.path("whole"), self.path(folder), 5)
            self.assertEqual(leftovers(self.path(folder)), [])
            self.assertGreater(lives, 2)


if __name__ == "__main__":
    main()
