#include "segment/channels.hpp"

namespace tutti::native {

Channels::Channels(std::shared_ptr<Segment> segment, int rank)
    : segment_(std::move(segment)),
      rank_(rank),
      size_(static_cast<int>(segment_->layout().geometry().ranks)),
      bells_(segment_->layout(), rank),
      streaming_from_(cache_sizes().streaming_from(size_)),
      broadcast_(segment_->layout().broadcast(rank), size_, rank),
      transfers_(static_cast<std::size_t>(size_)),
      inputs_(static_cast<std::size_t>(size_)),
      outputs_(static_cast<std::size_t>(size_)) {
  for (int peer = 0; peer < size_; ++peer) {
    // The pair rings of the rank to itself are never used; they keep the index simple.
    const int other = peer == rank ? (rank + 1) % size_ : peer;
    const bool alone = size_ == 1;
    const RingPlace to = alone ? layout().message(rank, rank) : layout().pair(rank, other);
    const RingPlace from = alone ? to : layout().pair(other, rank);
    pair_to_.emplace_back(to, 1, -1);
    pair_from_.emplace_back(from, 0);
    broadcast_from_.emplace_back(layout().broadcast(peer), rank);
    message_to_.emplace_back(layout().message(rank, peer), 1, -1);
    message_from_.emplace_back(layout().message(peer, rank), 0);
  }
}

}  // namespace tutti::native
