#include "negotiation/round_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "tutti/types/operation.hpp"

namespace tutti::horovod {

namespace {

constexpr std::size_t kHeader = sizeof(std::uint32_t);
/// Longer messages are rare, and no reason to send long blocks in every round.
constexpr std::size_t kLongestBlock = 16 << 10;

}  // namespace

std::uint32_t RoundExchange::length_of(std::size_t rank) const {
  std::uint32_t length = 0;
  std::memcpy(&length, all_.data() + rank * received_block_, kHeader);
  return length;
}

void RoundExchange::start(std::size_t block) {
  received_block_ = block;
  if (all_.size() < block * size_) all_.resize(block * size_);
  if (mine_.size() < block) mine_.resize(block);
  Operation operation;
  operation.kind = OpKind::allgather;
  operation.type = DataType::uint8;
  operation.count = block;
  operation.input = mine_.data();
  operation.output = all_.data();
  operation.timeout = kLongestTimeout;  // until the other ranks have tensors, too
  pending_ = control_.start(operation);
}

void RoundExchange::begin(const RoundMessage& message) {
  mine_.resize(kHeader);
  serialize(message, mine_);
  const auto length = static_cast<std::uint32_t>(mine_.size());
  std::memcpy(mine_.data(), &length, kHeader);
  is_second_ = false;
  start(block_);
}

bool RoundExchange::wait(spi::Deadline until) {
  if (!pending_->wait(until)) return false;
  pending_.reset();
  if (is_second_) return true;
  std::size_t longest = 0;
  for (std::size_t rank = 0; rank < size_; ++rank) longest = std::max<std::size_t>(longest, length_of(rank));
  if (longest <= block_) return true;
  block_ = std::max(block_, std::min(std::bit_ceil(longest), kLongestBlock));
  is_second_ = true;
  start(longest);
  return wait(until);
}

std::vector<RoundMessage> RoundExchange::take() {
  std::vector<RoundMessage> messages;
  messages.reserve(size_);
  for (std::size_t rank = 0; rank < size_; ++rank) {
    const std::size_t length = std::clamp<std::size_t>(length_of(rank), kHeader, received_block_);
    messages.push_back(parse({all_.data() + rank * received_block_ + kHeader, length - kHeader}));
  }
  return messages;
}

}  // namespace tutti::horovod
