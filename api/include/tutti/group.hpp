#pragma once

#include <cstddef>
#include <functional>

#include "tutti/export.hpp"
#include "tutti/work.hpp"

namespace tutti {

/// Collects the operations that this thread calls while it is open, on any communicators and streams; end() starts them
/// as if at the same time: a send and a recv to the same peer cannot deadlock, and one thread may call the operations
/// of several ranks of a group (see local_group()). The calls return at once with a complete Work; the Work of end()
/// stands for all. `async` of the calls is ignored, and the shortest timeout of the operations of a communicator is
/// that of all of them.
///
/// Groups nest: the operations of an inner one are started by the outermost. Used by one thread.
class TUTTI_API GroupScope {
 public:
  GroupScope();
  /// Discards the operations that were called since it was opened, unless end() was called.
  ~GroupScope();
  GroupScope(const GroupScope&) = delete;
  GroupScope& operator=(const GroupScope&) = delete;

  /// Starts the operations. The Work is complete when all of them are; its error is the first. An inner group leaves
  /// the start to the outer one, and its Work is complete. Throws Error if an operation cannot be started.
  [[nodiscard]] Work end();

 private:
  std::size_t first_;  ///< number of operations that had been collected before
  bool is_open_ = true;
};

/// Runs `body` in a GroupScope and ends it. An exception from `body` discards the operations.
[[nodiscard]] TUTTI_API Work group(const std::function<void()>& body);

}  // namespace tutti
