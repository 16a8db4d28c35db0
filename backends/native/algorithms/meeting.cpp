#include "algorithms/meeting.hpp"

#include <cstring>
#include <string>

#include "call.hpp"
#include "tutti/error.hpp"

namespace tutti::native {
namespace {

// Marks the fingerprint of a call on device memory, by exclusive or.
constexpr std::uint64_t kOnDevice = 0x9e37'79b9'7f4a'7c15;

}  // namespace

void Meeting::enter(const void* data, std::size_t bytes, std::size_t offered) noexcept {
  tag_ = fingerprint(operation_, channels_.size());
  show(data, bytes, offered);
}

void Meeting::enter_on_device(const void* data, std::size_t bytes) noexcept {
  tag_ = fingerprint(operation_, channels_.size()) ^ kOnDevice;
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
    const bool is_mine = tag_ != fingerprint(operation_, channels_.size());
    const int with = is_mine ? channels_.rank() : peer;
    const int without = is_mine ? peer : channels_.rank();
    throw Error(ErrorCode::invalid_usage,
                short_name(theirs) + ": rank " + std::to_string(with) + " has device memory, rank " +
                    std::to_string(without) +
                    " has host memory or calls it in a group; all ranks must call it in the same way",
                "native");
  }
  throw Error(ErrorCode::invalid_usage, explain_mismatch(channels_.rank(), Call::of(operation_), peer, theirs),
              "native");
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
