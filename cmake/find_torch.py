"""Prints what a build needs to know of the PyTorch of this Python, as a list of CMake: NAME=VALUE;..., '|' in values.

--key: prints a text that changes with torch, without importing it; nothing if it is absent.
"""
import importlib.util
import os
import sys
import sysconfig


def key():
    """The folder of torch and the time of its installation."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return ""
    return f"{sys.executable} {spec.origin} {os.stat(spec.origin).st_mtime_ns}"


def library_of(torch, name):
    """The file that this torch has loaded, wherever a distribution puts it."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split()[-1] for line in maps if f"/lib{name}.so" in line}
    if len(paths) != 1:
        sys.exit(f"lib{name}.so of torch {torch.__version__} is loaded from {sorted(paths) or 'nowhere'}")
    return paths.pop()


def includes():
    """Folders of the headers of torch, Python and pybind11."""
    from torch.utils import cpp_extension
    folders = [folder for folder in cpp_extension.include_paths() if os.path.isdir(folder)]
    folders.append(sysconfig.get_paths()["include"])
    headers = {"torch/version.h": "torch's headers", "Python.h": "those of Python", "pybind11/pybind11.h": "pybind11"}
    for header, owner in headers.items():
        if not any(os.path.exists(os.path.join(folder, header)) for folder in [*folders, "/usr/include"]):
            sys.exit(f"the header {header} is missing ({owner})")
    return [folder for folder in folders if folder != "/usr/include"]


def definitions(torch):
    """Macros by which pybind11 recognises the modules that may share types."""
    result = [f"_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        value = getattr(torch._C, f"_PYBIND11_{name}", None)
        if value is not None:
            result.append(f'PYBIND11_{name}="{value}"')
    return result


def main():
    if sys.argv[1:] == ["--key"]:
        print(key())
        return
    import torch
    import torch.distributed
    if not torch.distributed.is_available():
        sys.exit("it was built without torch.distributed")
    facts = {
        "version": torch.__version__,
        "includes": "|".join(includes()),
        "definitions": "|".join(definitions(torch)),
        "libraries": "|".join(library_of(torch, name) for name in ("c10", "torch_cpu", "torch_python")),
        "module_suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    }
    print(";".join(f"{name}={value}" for name, value in facts.items()))


main()
