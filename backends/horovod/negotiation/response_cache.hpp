#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "negotiation/message.hpp"

namespace tutti::horovod {

/// Responses of earlier rounds. Its content and the positions are the same on all ranks, because all change it in the
/// same way; a position then stands for a tensor in a round's bits. The least recently used response makes room for a
/// new one. Not synchronised.
class ResponseCache {
 public:
  enum class State : std::uint8_t {
    miss,
    hit,
    invalid,  ///< the name is known, but with other parameters
  };
  struct Found {
    State state = State::miss;
    std::uint32_t position = 0;
  };

  /// `rank`: this rank, whose rows of a gathered tensor count. A capacity of 0 turns the cache off.
  ResponseCache(std::size_t capacity, int rank) : capacity_(capacity), rank_(rank) {}

  [[nodiscard]] Found find(const Request& request) const;
  /// The response at a position in use.
  [[nodiscard]] const Response& at(std::uint32_t position) const { return *slots_[position].response; }
  [[nodiscard]] bool is_used(std::uint32_t position) const noexcept {
    return position < slots_.size() && slots_[position].response.has_value();
  }
  /// Positions that have ever been in use.
  [[nodiscard]] std::size_t positions() const noexcept { return slots_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return by_name_.size(); }

  /// Keeps the response of one tensor, as the most recently used.
  void put(const Response& response);
  /// Makes the response the most recently used.
  void touch(std::uint32_t position);
  void erase(std::uint32_t position);
  void clear();
  /// Grows whenever a response is erased: positions found before may be wrong.
  [[nodiscard]] std::uint64_t erasures() const noexcept { return erasures_; }

 private:
  struct Slot {
    std::optional<Response> response;
    std::list<std::uint32_t>::iterator use;
  };

  [[nodiscard]] bool fits(const Response& response, const Request& request) const;

  std::size_t capacity_;
  int rank_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::list<std::uint32_t> uses_;  ///< positions, the most recently used first
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::uint64_t erasures_ = 0;
};

}  // namespace tutti::horovod
