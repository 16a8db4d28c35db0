#include "store/wire/store_protocol.hpp"

#include <algorithm>
#include <limits>

#include "store/wire/store_bytes.hpp"

namespace tutti {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kKeepBytes = std::size_t{64} << 10;

std::string_view as_text(const Digest& digest) noexcept {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Whether the parts of the request are those that its kind has.
bool is_sound(const Request& request) noexcept {
  if (request.value.size() > kMaxValueBytes) return false;
  if (request.kind == RequestKind::goodbye) {
    return request.key.empty() && request.value.empty() && request.watch.members.empty();
  }
  if (request.key.empty()) return false;
  return request.kind == RequestKind::get ? request.value.empty() : request.watch.members.empty();
}

}  // namespace

bool Watch::has(std::int32_t rank) const noexcept {
  if (members.empty()) return true;
  const auto at = static_cast<std::size_t>(rank);
  return at / 8 < members.size() && (static_cast<std::uint8_t>(members[at / 8]) >> (at % 8) & 1) != 0;
}

std::string encode_members(const std::vector<int>& ranks) {
  std::string bits;
  for (const int rank : ranks) {
    const auto at = static_cast<std::size_t>(rank);
    if (at / 8 >= kMaxMemberBytes) continue;
    if (at / 8 >= bits.size()) bits.resize(at / 8 + 1, '\0');
    bits[at / 8] = static_cast<char>(bits[at / 8] | 1 << (at % 8));
  }
  // Empty would mean all ranks.
  if (bits.empty()) bits.resize(1, '\0');
  return bits;
}

Watch watch_of(const WaitedRanks& ranks, std::string& bits) {
  if (!ranks.members.empty()) bits = encode_members({ranks.members.begin(), ranks.members.end()});
  std::int32_t giver = ranks.giver;
  if (giver < 0) giver = giver == WaitedRanks::kAllMembers ? Watch::kAllMembers : Watch::kUnknown;
  return {.giver = giver, .members = bits};
}

std::string encode(const Request& request) {
  std::string out;
  const std::size_t body = kRequestHeadBytes + request.key.size() + request.watch.members.size() + request.value.size();
  out.reserve(kLengthBytes + body + sizeof(Digest));
  append_number(out, static_cast<std::uint32_t>(body));
  append_number(out, static_cast<std::uint8_t>(request.kind));
  append_number(out, request.id);
  append_number(out, static_cast<std::uint64_t>(std::max<std::int64_t>(request.timeout.count(), 0)));
  append_number(out, request.reads);
  append_number(out, static_cast<std::uint32_t>(request.watch.giver));
  append_number(out, static_cast<std::uint32_t>(request.key.size()));
  append_number(out, static_cast<std::uint32_t>(request.watch.members.size()));
  return out.append(request.key).append(request.watch.members).append(request.value);
}

std::string encode_head(Outcome outcome, std::uint64_t id, std::size_t value_bytes) {
  std::string out;
  append_number(out, static_cast<std::uint32_t>(kAnswerHeadBytes + value_bytes));
  append_number(out, static_cast<std::uint8_t>(outcome));
  append_number(out, id);
  return out;
}

std::optional<Request> decode_request(std::string_view body) {
  if (body.size() < kRequestHeadBytes) return std::nullopt;
  Request request;
  const auto kind = take_number<std::uint8_t>(body);
  if (kind < static_cast<std::uint8_t>(RequestKind::put) || kind > static_cast<std::uint8_t>(RequestKind::failure)) {
    return std::nullopt;
  }
  request.kind = static_cast<RequestKind>(kind);
  request.id = take_number<std::uint64_t>(body);
  const auto timeout = take_number<std::uint64_t>(body);
  constexpr auto kLongest = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  request.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(timeout, kLongest)));
  request.reads = take_number<std::uint32_t>(body);
  request.watch.giver = static_cast<std::int32_t>(take_number<std::uint32_t>(body));
  const auto key_bytes = take_number<std::uint32_t>(body);
  const auto member_bytes = take_number<std::uint32_t>(body);
  if (key_bytes > kMaxKeyBytes || key_bytes > body.size()) return std::nullopt;
  request.key = take_bytes(body, key_bytes);
  if (member_bytes > kMaxMemberBytes || member_bytes > body.size()) return std::nullopt;
  request.watch.members = take_bytes(body, member_bytes);
  request.value = body;
  return is_sound(request) ? std::optional(request) : std::nullopt;
}

std::optional<Answer> decode_answer(std::string_view body) {
  if (body.size() < kAnswerHeadBytes) return std::nullopt;
  Answer answer;
  const auto outcome = take_number<std::uint8_t>(body);
  if (outcome > static_cast<std::uint8_t>(Outcome::closing)) return std::nullopt;
  answer.outcome = static_cast<Outcome>(outcome);
  answer.id = take_number<std::uint64_t>(body);
  answer.value = body;
  const bool is_notice = answer.outcome == Outcome::lost || answer.outcome == Outcome::closing;
  if (is_notice != (answer.id == kNoticeId)) return std::nullopt;
  return answer;
}

std::string encode_ranks(const std::vector<int>& ranks) {
  std::string out;
  for (const int rank : ranks) append_number(out, static_cast<std::uint32_t>(rank));
  return out;
}

std::optional<std::vector<int>> decode_ranks(std::string_view value) {
  if (value.size() % sizeof(std::uint32_t) != 0) return std::nullopt;
  std::vector<int> ranks;
  while (!value.empty()) {
    const auto rank = take_number<std::uint32_t>(value);
    if (rank > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) return std::nullopt;
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

FrameSeal::FrameSeal(const Digest& key) : keyed_(as_text(key)) {}

FrameSeal::FrameSeal(std::string_view secret, Role sender, const Nonce& client, const Nonce& server) {
  if (!secret.empty()) keyed_.emplace(as_text(make_session_key(secret, sender, client, server)));
}

Digest FrameSeal::next(std::string_view head, std::string_view value) {
  HmacSha256 hmac = *keyed_;
  std::string number;
  append_number(number, number_++);
  hmac.add(number);
  hmac.add(head);
  hmac.add(value);
  return hmac.finish();
}

std::string FrameSeal::make(std::string_view head, std::string_view value) {
  return keyed_ ? std::string(as_text(next(head, value))) : std::string();
}

bool FrameSeal::check(std::string_view frame, std::string_view seal) {
  if (!keyed_) return seal.empty();
  if (seal.size() != sizeof(Digest)) return false;
  return equal_in_constant_time(take_array<sizeof(Digest)>(seal), next(frame, {}));
}

void FrameBuffer::append(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  // The memory of a large value must not be kept for the life of the connection.
  if (bytes_.empty() && bytes_.capacity() > kKeepBytes) std::string().swap(bytes_);
  bytes_.append(bytes);
}

FrameBuffer::Next FrameBuffer::next(std::string_view& body) {
  const std::string_view bytes = std::string_view(bytes_).substr(taken_);
  std::string_view rest = bytes;
  if (rest.size() < kLengthBytes) return Next::incomplete;
  const auto length = take_number<std::uint32_t>(rest);
  if (length > kMaxFrameBytes) return Next::too_long;
  if (rest.size() < length + seal_.bytes()) return Next::incomplete;
  body = rest.substr(0, length);
  if (!seal_.check(bytes.substr(0, kLengthBytes + length), rest.substr(length, seal_.bytes()))) return Next::forged;
  taken_ += kLengthBytes + length + seal_.bytes();
  return Next::frame;
}

std::optional<std::string_view> FrameBuffer::take(std::size_t size) {
  if (bytes_.size() - taken_ < size) return std::nullopt;
  const std::string_view bytes = std::string_view(bytes_).substr(taken_, size);
  taken_ += size;
  return bytes;
}

}  // namespace tutti
