"""The report of a program that ends in the usual way, with TUTTI_SHOW=1."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = """
import sys, torch, torch.distributed as dist, tutti_torch
rank, file = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("tutti", store=dist.FileStore(file, 2), rank=rank, world_size=2)
for count in (1, 1000, 500000):
    dist.all_reduce(torch.ones(count))
dist.broadcast(torch.ones(250000), 0)
dist.destroy_process_group()
"""


class Report(unittest.TestCase):
    def outputs(self, shows):
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", PROGRAM, str(rank), folder + "/store"],
                                      env=dict(os.environ, TUTTI_SHOW=shows), stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True) for rank in range(2)]
            texts = [rank.communicate(timeout=100)[0] for rank in ranks]
            self.assertEqual([rank.returncode for rank in ranks], [0, 0], texts)
            return texts

    def test_rank_0_prints_its_operations(self):
        texts = self.outputs("1")
        self.assertIn("carried out by tutti in place of Gloo", texts[0])
        self.assertRegex(texts[0], r"tutti:   all_reduce: 3 by native \(2\.0 MB\)\n")
        self.assertRegex(texts[0], r"tutti:   broadcast: 1 by native \(1\.0 MB\)\n")
        self.assertNotIn("tutti:", texts[1])

    def test_nothing_is_printed_without_the_variable(self):
        self.assertNotIn("tutti:", "".join(self.outputs("0")))


if __name__ == "__main__":
    unittest.main()
