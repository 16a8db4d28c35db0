"""Instructions that the MPI adapter adds to a call that it passes on, counted by callgrind on any machine alike.

mpi_adapter_instructions.py BENCHMARK ADAPTER STAND_IN LIMIT: fails if a call has more than LIMIT."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

benchmark, adapter, stand_in, limit = sys.argv[1:4] + [float(sys.argv[4])]
CALLS = 1000


def counts(folder, arguments, **environment):
    """Instructions per call by case, less those of a direct call."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", benchmark, stand_in,
               "--instructions", *arguments]
    run = subprocess.run(command, env=dict(os.environ, LD_PRELOAD=adapter, **environment), check=False, timeout=300,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {run.returncode}:\n{run.stdout}")
    found = {}
    for file in pathlib.Path(folder).glob("out.*"):
        text = file.read_text(encoding="utf-8", errors="replace")
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
        total = re.search(r"^(?:summary|totals): (\d+)$", text, re.M)
        if name and total:
            found[name[1]] = int(total[1]) / CALLS
    if len(found) < 9:
        sys.exit(f"callgrind wrote {len(found)} of 9 dumps into {folder}:\n{run.stdout}")
    direct = found.pop("direct")
    return {name: count - direct for name, count in found.items()}


def main():
    if shutil.which("valgrind") is None:
        print("SKIPPED: valgrind is not installed")
        return
    settings = {"built-in sizes": ([], {}), "a tuning file": (["tuning"], {}),
                "a tuning file and TUTTI_SHOW=1": (["tuning"], {"TUTTI_SHOW": "1"})}
    worst = 0
    for setting, (files, environment) in settings.items():
        with tempfile.TemporaryDirectory() as folder:
            for name, count in counts(folder, [os.path.join(folder, file) for file in files], **environment).items():
                print(f"{setting}: {name}: {count:.0f} instructions (limit {limit:.0f})")
                worst = max(worst, count)
    if worst > limit:
        sys.exit(f"a call that is passed on has {worst:.0f} instructions of the adapter, more than {limit:.0f}")


main()
