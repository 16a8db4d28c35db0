#pragma once

#include <chrono>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "tutti/rendezvous.hpp"

namespace tutti::torch_adapter {

/// The ranks of a process group meet through its store: rank 0 serves a store of tutti and tells its address there, a
/// socket that other hosts do not reach unless ranks are on other hosts. Blocks until all ranks take part; the error
/// names the ranks that do not.
[[nodiscard]] Rendezvous meet(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout);

}  // namespace tutti::torch_adapter
