"""Builds the package tutti_torch with the torch of this Python and an installed or built tutti.

TUTTI_ROOT: the prefix of an installation or a build folder of tutti (build/release); without it the build folder of
this clone is used.
"""
import os
import pathlib
import re
import sys

from setuptools import setup

try:
    from torch.utils import cpp_extension
except ImportError as failure:
    sys.exit("tutti-torch is built with the torch that runs it: install torch into this Python first, then use "
             f"pip install --no-build-isolation ({failure})")

HERE = pathlib.Path(__file__).resolve().parent
CLONE = HERE.parent.parent
SOURCES = ["call_queue", "meeting", "message_lane", "movements", "process_group", "python_module", "reductions",
           "report", "tensor_work", "tensors"]


def find_tutti():
    """Folders of the headers and of libtutti.so."""
    root = pathlib.Path(os.environ.get("TUTTI_ROOT", CLONE / "build" / "release")).resolve()
    headers = [folder for folder in (root / "include", CLONE / "api" / "include") if (folder / "tutti").is_dir()]
    libraries = [folder for folder in (root / "lib", *root.glob("lib/*-linux-gnu"), root / "lib64")
                 if (folder / "libtutti.so").exists()]
    if not headers or not libraries:
        sys.exit(f"there is no tutti in {root}: build it with ./tutti build, or set TUTTI_ROOT to the prefix of an "
                 "installation or to a build folder")
    return str(headers[0]), str(libraries[0])


def version():
    """That of tutti, from the project's CMakeLists.txt where the clone is there."""
    text = (CLONE / "CMakeLists.txt").read_text(encoding="utf-8") if (CLONE / "CMakeLists.txt").exists() else ""
    found = re.search(r"project\(tutti VERSION ([0-9.]+)", text)
    return found.group(1) if found else "0"


include, library = find_tutti()
os.chdir(HERE)  # setuptools takes sources by relative paths only
setup(
    version=version(),
    packages=["tutti_torch"],
    ext_modules=[cpp_extension.CppExtension(
        "tutti_torch._C", [f"{name}.cpp" for name in SOURCES], include_dirs=[include], library_dirs=[library],
        libraries=["tutti"], runtime_library_dirs=[library],
        extra_compile_args=["-std=c++20", "-O2", "-fvisibility=hidden"])],
    cmdclass={"build_ext": cpp_extension.BuildExtension.with_options(use_ninja=False)},
)
