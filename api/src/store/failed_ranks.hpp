#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "store/wire/store_protocol.hpp"

namespace tutti {

/// The ranks that have announced, by Store::fail(), that they take no further part in something. For one thread.
class FailedRanks {
 public:
  struct Entry {
    std::int32_t rank;
    std::uint64_t order;  ///< of the announcement among the events of the job
    std::string scope;    ///< the keys that begin with it may never come
    std::string text;     ///< a sentence that names the rank and the reason
  };

  /// `who` names the rank. Forgets the oldest announcement if there are very many.
  void add(std::int32_t rank, std::uint64_t order, std::string_view scope, std::string_view who,
           std::string_view reason);
  /// The first announcement that makes the wait for the key hopeless; null if there is none.
  [[nodiscard]] const Entry* first(std::string_view key, const Watch& watch) const noexcept;
  /// The first announcement of all; null if there is none.
  [[nodiscard]] const Entry* first() const noexcept { return entries_.empty() ? nullptr : &entries_.front(); }

 private:
  std::deque<Entry> entries_;  ///< in their order
};

}  // namespace tutti
