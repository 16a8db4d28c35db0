#include "mpi/received_statuses.hpp"

#include <algorithm>
#include <cstring>

namespace tutti::profiling::mpi {

using mpi_table::Row;

void ReceivedStatuses::prepare(Row row, Binding binding, Word* words, std::size_t requests) noexcept {
  if (binding != Binding::c && binding != Binding::large) return;
  switch (row) {
    case Row::Wait:
      status_ = 1;
      break;
    case Row::Test:
      status_ = 2;
      break;
    case Row::Waitany:
      status_ = 3;
      break;
    case Row::Testany:
      status_ = 4;
      break;
    case Row::Recv:
      status_ = 6;
      break;
    case Row::Waitall:
      status_ = 2;
      order_ = Order::as_requests;
      break;
    case Row::Testall:
      status_ = 3;
      order_ = Order::as_requests;
      break;
    case Row::Waitsome:
    case Row::Testsome:
      status_ = 4;
      order_ = Order::as_indices;
      break;
    default:
      return;
  }
  constexpr Word kIgnored = 1;  // MPI_STATUS_IGNORE is 0 or 1
  if (words[status_] <= kIgnored) {
    try {
      const std::size_t count = order_ == Order::one ? 1 : requests;
      own_.resize(count * static_cast<std::size_t>(abi().status_bytes) / sizeof(int));
    } catch (...) {
      return;
    }
    words[status_] = reinterpret_cast<Word>(own_.data());
  }
  words_ = words;
}

std::optional<ReceivedStatuses::Sender> ReceivedStatuses::sender_of(std::size_t request) const noexcept {
  if (words_ == nullptr) return std::nullopt;
  std::size_t place = order_ == Order::one ? 0 : request;
  if (order_ == Order::as_indices) {
    const auto* const indices = reinterpret_cast<const int*>(words_[3]);
    const int done = *reinterpret_cast<const int*>(words_[2]);
    const int* const end = indices + std::max(done, 0);
    const int* const found = std::find(indices, end, static_cast<int>(request));
    if (found == end) return std::nullopt;
    place = static_cast<std::size_t>(found - indices);
  }
  const auto bytes = static_cast<std::size_t>(abi().status_bytes);
  const char* const status = reinterpret_cast<const char*>(words_[status_]) + place * bytes;
  Sender sender;
  std::memcpy(&sender, status + static_cast<std::size_t>(abi().status_source) * sizeof(int), sizeof sender);
  if (sender.rank < 0 || sender.tag < 0) return std::nullopt;
  return sender;
}

}  // namespace tutti::profiling::mpi
