#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "negotiation/message.hpp"

namespace tutti::horovod {

/// The tensors that some ranks have submitted, with the first disagreement between them. All ranks keep the same table.
/// Not synchronised.
class MessageTable {
 public:
  explicit MessageTable(int size) : joined_(static_cast<std::size_t>(size), false) {}

  /// Notes that a rank has submitted a tensor.
  void add(int rank, Request request);
  /// Notes that a rank has joined: from now on it counts as having submitted every tensor.
  void join(int rank);
  [[nodiscard]] bool is_joined(int rank) const { return joined_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int joined() const noexcept { return joined_count_; }
  /// Once all ranks have joined: the rank that came last; the ranks have not joined any more.
  [[nodiscard]] int take_joined();

  /// Removes the tensors that all ranks have submitted, in the order in which they became complete, and returns the
  /// decisions about them.
  [[nodiscard]] std::vector<Response> take_complete();

  struct Incomplete {
    std::string name;
    std::vector<int> missing;  ///< ranks
  };
  /// Tensors that some ranks have not submitted, in the order of the first submissions.
  [[nodiscard]] std::vector<Incomplete> incomplete() const;

 private:
  struct Row {
    Request first;
    int submitted = 0;
    int joined = 0;           ///< ranks that have joined and not submitted it
    std::vector<bool> ranks;  ///< that have submitted it
    std::vector<std::int64_t> sizes;
    std::string error;
  };
  using Rows = std::list<Row>;

  void complete_if_ready(Rows::iterator row);
  [[nodiscard]] Response decide(Row& row) const;

  std::vector<bool> joined_;
  int joined_count_ = 0;
  int last_joined_ = -1;
  Rows rows_;
  std::unordered_map<std::string, Rows::iterator> by_name_;
  Rows complete_;
};

/// Upstream's text for the first difference between two requests of the same tensor; empty if they agree.
[[nodiscard]] std::string disagreement(const Request& one, const Request& other);

}  // namespace tutti::horovod
