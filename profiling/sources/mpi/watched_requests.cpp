#include "mpi/watched_requests.hpp"

#include <algorithm>

namespace tutti::profiling::mpi {

void WatchedRequests::note(const mpi_table::Function& function, const Arguments& arguments) noexcept {
  const auto& at = function.at;
  const int count = at.count < 0 ? 1 : arguments.integer(at.count);
  if (count <= 0 || arguments.is_null(at.request)) return;
  const auto all = static_cast<std::size_t>(count);
  try {
    if (all > near_.size()) far_.resize(all - near_.size());
  } catch (...) {
    return;  // Without memory these operations end when the program ends MPI.
  }
  for (std::size_t i = 0; i < all; ++i) {
    Word& kept = i < near_.size() ? near_[i] : far_[i - near_.size()];
    kept = arguments.raw_request(at.request, static_cast<int>(i));
  }
  count_ = all;
}

}  // namespace tutti::profiling::mpi
