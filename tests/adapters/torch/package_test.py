"""The package as pip builds it: package_test.py FOLDER_OF_PACKAGE BUILD_FOLDER

A copy of the folder, in which pip leaves its files, is installed into another one, where a program then finds it."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

package, build = sys.argv[1:3]

PROGRAM = """
import os, torch, torch.distributed as dist, tutti_torch
assert tutti_torch.__file__.startswith(os.environ["PYTHONPATH"]), tutti_torch.__file__
dist.init_process_group("tutti", store=dist.HashStore(), rank=0, world_size=1)
tensor = torch.full((5,), 3, dtype=torch.bfloat16)
dist.all_reduce(tensor)
assert bool((tensor == 3).all())
dist.destroy_process_group()
print("carried out by", tutti_torch.__name__)
"""


class Package(unittest.TestCase):
    def run_checked(self, command, **environment):
        run = subprocess.run(command, env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=800, check=False)
        self.assertEqual(run.returncode, 0, f"{command} printed:\n{run.stdout}")
        return run.stdout

    def test_pip_builds_it_with_this_torch_and_fetches_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            clone, target = os.path.join(folder, "clone"), os.path.join(folder, "target")
            source = os.path.join(clone, "adapters", "torch")
            shutil.copytree(package, source, ignore=shutil.ignore_patterns("build", "*.egg-info"))
            for shared in ("api", "adapters/common"):
                os.symlink(os.path.join(package, "..", "..", shared), os.path.join(clone, shared))
            self.run_checked([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation",
                              "--target", target, source], TUTTI_ROOT=build)
            text = self.run_checked([sys.executable, "-W", "ignore", "-c", PROGRAM], PYTHONPATH=target)
            self.assertIn("carried out by tutti_torch", text)


unittest.main(argv=sys.argv[:1])
