#pragma once

#include <memory>
#include <oneapi/ccl.hpp>
#include <utility>
#include <vector>

#include "bridge/ccl_bridge.hpp"

/// Definitions of the types that the module knows by name only; for the two bridges.
namespace tutti::ccl {

struct Kvs {
  std::shared_ptr<::ccl::kvs> kvs;
};

struct Handle {
  Handle(::ccl::communicator made, int size) : communicator(std::move(made)) {
    const auto ranks = static_cast<std::size_t>(size);
    input_counts.resize(ranks);
    output_counts.resize(ranks);
  }

  ::ccl::communicator communicator;
  /// Orders the operations; oneCCL's default stream stands for the host.
  ::ccl::stream stream = ::ccl::default_stream;
  // Scratch vectors, since oneCCL takes vectors. One set is enough, because calls on a communicator never overlap.
  std::vector<std::size_t> input_counts;
  std::vector<std::size_t> output_counts;
  // Buffers of a barrier that is an allreduce.
  std::int32_t arrival = 1;
  std::int32_t arrivals = 0;
  bool has_queue = false;  ///< whether `stream` is a queue, which takes no host memory
};

}  // namespace tutti::ccl
