#include "algorithms/meeting.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "call.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/call_fingerprint.hpp"

namespace tutti::native {
namespace {

// Marks the fingerprint of a call on device memory, by exclusive or.
constexpr std::uint64_t kOnDevice = 0x9e37'79b9'7f4a'7c15;

}  // namespace

void Meeting::enter(const void* data, std::size_t bytes, std::size_t offered) noexcept {
  tag_ = spi::fingerprint(operation_, channels_.size(), channels_.history());
  channels_.set_history(tag_);
  show(data, bytes, offered);
}

void Meeting::enter_on_device(const void* data, std::size_t bytes) noexcept {
  tag_ = spi::fingerprint(operation_, channels_.size(), channels_.history());
  channels_.set_history(tag_);
  tag_ ^= kOnDevice;
  on_device_ = true;
  show(data, bytes, 0);
}

inline void Meeting::show(const void* data, std::size_t bytes, std::size_t offered) noexcept {
  Mailbox& mailbox = channels_.layout().mailbox(channels_.rank(), number_);
  mailbox.slot.tag = tag_;
  mailbox.slot.total = offered;
  Call::of(operation_).store(mailbox.record);
  if (bytes != 0) std::memcpy(mailbox.payload(bytes), data, bytes);
  mailbox.slot.stamp.store(number_, std::memory_order_seq_cst);
  channels_.bells().notify_all();
  entered_ = true;
}

void Meeting::throw_mismatch(int peer) const {
  const Mailbox& mailbox = channels_.layout().mailbox(peer, number_);
  const Call theirs = Call::load(mailbox.record);
  if ((mailbox.slot.tag ^ tag_) == kOnDevice) {
    const int with = on_device_ ? channels_.rank() : peer;
    const int without = on_device_ ? peer : channels_.rank();
    throw Error(ErrorCode::invalid_usage,
                short_name(theirs) + ": rank " + std::to_string(with) + " has device memory, rank " +
                    std::to_string(without) +
                    " has host memory or calls it in a group; all ranks must call it in the same way",
                "native");
  }
  const Call mine = Call::of(operation_);
  if (!is_same_call(mine, theirs)) {
    throw Error(ErrorCode::invalid_usage, explain_mismatch(channels_.rank(), mine, peer, theirs), "native");
  }
  // The difference may lie before. The records of the last collective are still there unless a rank has gone on.
  const auto before = [&](int rank) { return Call::load(channels_.layout().mailbox(rank, number_ - 1).record); };
  const Call my_last = before(channels_.rank());
  const Call their_last = before(peer);
  if (my_last.sequence == their_last.sequence && my_last.sequence < mine.sequence &&
      !is_same_call(my_last, their_last)) {
    throw Error(
        ErrorCode::invalid_usage,
        explain_mismatch(channels_.rank(), my_last, peer, their_last) + " (noticed in " + short_name(mine) + ")",
        "native");
  }
  if (has_common_counts(mine.kind)) {
    throw Error(ErrorCode::invalid_usage, explain_mismatch(channels_.rank(), mine, peer, theirs), "native");
  }
  throw Error(ErrorCode::invalid_usage,
              "rank " + std::to_string(std::min(channels_.rank(), peer)) + " and rank " +
                  std::to_string(std::max(channels_.rank(), peer)) + " called different operations, roots or counts " +
                  "before " + short_name(mine) + "; TUTTI_CHECK=1 names the call",
              "native");
}

void Meeting::compare_all() const {
  if (!entered_) return;
  for (int distance = 1; distance < channels_.size(); ++distance) (void)meet(channels_.peer(distance));
}

void Meeting::throw_length_mismatch(int peer, std::uint64_t sent_bytes, std::uint64_t expected_bytes) const {
  const std::uint64_t size = size_of(operation_.type);
  throw Error(ErrorCode::invalid_usage,
              short_name(Call::of(operation_)) + ": rank " + std::to_string(peer) + " sends " +
                  std::to_string(sent_bytes / size) + " " + std::string(name(operation_.type)) + " to rank " +
                  std::to_string(channels_.rank()) + ", which expects " + std::to_string(expected_bytes / size),
              "native");
}

}  // namespace tutti::native
