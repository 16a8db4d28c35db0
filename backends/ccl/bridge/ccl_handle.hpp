#pragma once

#include <memory>
#include <oneapi/ccl.hpp>
#include <utility>
#include <vector>

#include "bridge/ccl_bridge.hpp"

/// What is behind the names that the module holds; for the two bridges only.
namespace tutti::ccl {

struct Kvs {
  std::shared_ptr<::ccl::kvs> kvs;
};

struct Handle {
  Handle(::ccl::communicator made, int size) : communicator(std::move(made)) {
    const auto ranks = static_cast<std::size_t>(size);
    input_counts.resize(ranks);
    output_counts.resize(ranks);
    output_blocks.resize(ranks);
  }

  ::ccl::communicator communicator;
  /// What operations are ordered by; oneCCL's own default means the host.
  ::ccl::stream stream = ::ccl::default_stream;
  // oneCCL takes vectors. Calls on a communicator come one after the other, so one set of them serves all.
  std::vector<std::size_t> input_counts;
  std::vector<std::size_t> output_counts;
  std::vector<void*> output_blocks;
};

}  // namespace tutti::ccl
