#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/tuning.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// A backend that the user wants for an operation and a range of sizes.
struct Pin {
  OpKind op = OpKind::allreduce;
  std::uint64_t from = 0;
  std::uint64_t to = kNoLimit;  ///< inclusive
  std::string spec;
  std::string text;  ///< as the user wrote it

  [[nodiscard]] bool covers(OpKind kind, std::uint64_t bytes) const noexcept {
    return kind == op && from <= bytes && bytes <= to;
  }
};

/// Pins from "allreduce:1M-8M=ccl,allgather=native": OPERATION[:SIZE|:FROM-|:FROM-TO]=BACKEND, separated by commas; of
/// several for the same size the first counts. Throws Error{config} that shows the form.
[[nodiscard]] std::vector<Pin> parse_pins(std::string_view text);

}  // namespace tutti
