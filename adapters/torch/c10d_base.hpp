#pragma once

#include <torch/version.h>

#include <torch/csrc/distributed/c10d/Types.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace tutti::torch_adapter {

/// The class that process groups of other libraries derive from: in torch 2 a backend of a process group, in torch 1
/// the process group itself. The collectives have the same names and arguments in both.
#if TORCH_VERSION_MAJOR >= 2
using C10dBase = c10d::Backend;
#else
using C10dBase = c10d::ProcessGroup;
#endif

}  // namespace tutti::torch_adapter
