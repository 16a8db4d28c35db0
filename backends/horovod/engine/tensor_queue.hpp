#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/entry.hpp"

namespace tutti::horovod {

/// The tensors of a rank that have been submitted and not completed, by name. Not synchronised.
class TensorQueue {
 public:
  /// Throws Error{invalid_argument} with upstream's text if one of the names is in use; none is added then.
  void add(std::span<const EntryPointer> entries);
  /// The entries added since the last call, in order.
  [[nodiscard]] std::vector<EntryPointer> take_new();
  /// Removes and returns the tensor of that name; null if there is none.
  [[nodiscard]] EntryPointer take(const std::string& name);
  /// The tensor of that name; null if there is none.
  [[nodiscard]] EntryPointer find(const std::string& name);
  /// Removes all.
  [[nodiscard]] std::vector<EntryPointer> take_all();

  [[nodiscard]] std::set<std::string> names() const;
  [[nodiscard]] bool empty() const noexcept { return by_name_.empty(); }
  [[nodiscard]] bool has_new() const noexcept { return !new_.empty(); }
  /// Bytes of the tensors added since the last take_new().
  [[nodiscard]] std::uint64_t new_bytes() const noexcept { return new_bytes_; }

 private:
  std::unordered_map<std::string, EntryPointer> by_name_;
  std::vector<EntryPointer> new_;
  std::uint64_t new_bytes_ = 0;
};

}  // namespace tutti::horovod
