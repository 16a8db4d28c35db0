#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "base/mpi/mpi_functions.hpp"
#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

/// The requests that a call may complete. MPI replaces those that it completes by MPI_REQUEST_NULL, so that a request
/// that has changed is complete, whichever function it was passed to.
class WatchedRequests {
 public:
  /// Before the call: notes its requests.
  void note(const mpi_table::Function& function, const Arguments& arguments) noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }

  /// After the call: calls `done(request, place)` for each request that it completed.
  template <typename Done>
  void visit_completed(const mpi_table::Function& function, const Arguments& arguments, Done done) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      const Word before = at(i);
      if (arguments.raw_request(function.at.request, static_cast<int>(i)) != before)
        done(arguments.request_of(before), i);
    }
  }

 private:
  [[nodiscard]] Word at(std::size_t index) const noexcept {
    return index < near_.size() ? near_[index] : far_[index - near_.size()];
  }

  std::size_t count_ = 0;
  std::array<Word, 4> near_;  // most calls have few requests; not initialised, as most calls have none
  std::vector<Word> far_;
};

}  // namespace tutti::profiling::mpi
