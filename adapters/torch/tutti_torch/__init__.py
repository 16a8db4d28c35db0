"""The backend `tutti` of torch.distributed: collectives of PyTorch, carried out by tutti.

    import tutti_torch
    torch.distributed.init_process_group("tutti")
"""
import inspect

import torch.distributed as dist

from . import _C

__all__ = ["engine", "monitored_barrier"]


def _create(options, _backend_options):
    return _C.create(options.store, options.group_rank, options.group_size, options.timeout,
                     "torch " + (options.group_id or "group"))


def _backend_of(group):
    """The C++ object of tutti behind a process group: in torch 2 a backend of it, in torch 1 the group itself."""
    group = group if group is not None else dist.distributed_c10d._get_default_group()
    if hasattr(group, "_get_backend"):
        import torch
        return group._get_backend(torch.device("cpu"))
    return group


def engine(group=None):
    """Name of the backend of tutti that serves a process group, e.g. "native"; None: the default group."""
    return _C.engine(_backend_of(group))


def monitored_barrier(group=None, timeout=None):
    """torch.distributed.monitored_barrier() for groups of tutti, since torch's own accepts only Gloo: returns when all
    ranks have called it, or raises an error that names the late ranks after `timeout` (a timedelta; None: that of the
    group)."""
    options = dist.BarrierOptions()
    if timeout is not None:
        options.timeout = timeout
    _backend_of(group).barrier(options).wait()


def _register():
    # The devices must be named from torch 2 on: otherwise torch takes a backend for one of all devices.
    arguments = {"extended_api": True}
    if "devices" in inspect.signature(dist.Backend.register_backend).parameters:
        arguments["devices"] = ["cpu"]
    dist.Backend.register_backend("tutti", _create, **arguments)


_register()
