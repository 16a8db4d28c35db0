#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::profiling {

/// The element that an index of a Profile refers to, or null: -1 means none, and a damaged file can hold any number.
template <typename Row>
[[nodiscard]] const Row* row_at(const std::vector<Row>& rows, std::int64_t index) noexcept {
  return index >= 0 && static_cast<std::size_t>(index) < rows.size() ? &rows[static_cast<std::size_t>(index)] : nullptr;
}

}  // namespace tutti::profiling
