#include "store/store_protocol.hpp"

#include <algorithm>

namespace tutti {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kKeepBytes = std::size_t{64} << 10;

template <typename Number>
void append_number(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

template <typename Number>
Number take_number(std::string_view& in) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number = static_cast<Number>(number | static_cast<Number>(static_cast<std::uint8_t>(in[i])) << (8 * i));
  }
  in.remove_prefix(sizeof(Number));
  return number;
}

template <std::size_t size>
void append_bytes(std::string& out, const std::array<std::uint8_t, size>& bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), size);
}

std::array<std::uint8_t, 32> bytes_at(std::string_view text, std::size_t offset) {
  std::array<std::uint8_t, 32> bytes;
  std::copy_n(text.data() + offset, bytes.size(), bytes.begin());
  return bytes;
}

}  // namespace

std::string encode(const Request& request) {
  std::string out;
  const std::size_t body = kRequestHeadBytes + request.key.size() + request.value.size();
  out.reserve(kLengthBytes + body);
  append_number(out, static_cast<std::uint32_t>(body));
  append_number(out, static_cast<std::uint8_t>(request.kind));
  append_number(out, request.id);
  append_number(out, static_cast<std::uint64_t>(std::max<std::int64_t>(request.timeout.count(), 0)));
  append_number(out, request.reads);
  append_number(out, static_cast<std::uint32_t>(request.key.size()));
  return out.append(request.key).append(request.value);
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
  if (kind != static_cast<std::uint8_t>(RequestKind::put) && kind != static_cast<std::uint8_t>(RequestKind::get)) {
    return std::nullopt;
  }
  request.kind = static_cast<RequestKind>(kind);
  request.id = take_number<std::uint64_t>(body);
  const auto timeout = take_number<std::uint64_t>(body);
  constexpr auto kLongest = static_cast<std::uint64_t>(std::chrono::nanoseconds::max().count());
  request.timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(std::min(timeout, kLongest)));
  request.reads = take_number<std::uint32_t>(body);
  const auto key_bytes = take_number<std::uint32_t>(body);
  if (key_bytes == 0 || key_bytes > kMaxKeyBytes || key_bytes > body.size()) return std::nullopt;
  request.key = body.substr(0, key_bytes);
  request.value = body.substr(key_bytes);
  if (request.value.size() > kMaxValueBytes) return std::nullopt;
  if (request.kind == RequestKind::get && !request.value.empty()) return std::nullopt;
  return request;
}

std::optional<Answer> decode_answer(std::string_view body) {
  if (body.size() < kAnswerHeadBytes) return std::nullopt;
  Answer answer;
  const auto outcome = take_number<std::uint8_t>(body);
  if (outcome > static_cast<std::uint8_t>(Outcome::full)) return std::nullopt;
  answer.outcome = static_cast<Outcome>(outcome);
  answer.id = take_number<std::uint64_t>(body);
  answer.value = body;
  return answer;
}

void FrameBuffer::append(std::string_view bytes) {
  bytes_.erase(0, taken_);
  taken_ = 0;
  // The memory of a large value must not be kept for the life of the connection.
  if (bytes_.empty() && bytes_.capacity() > kKeepBytes) std::string().swap(bytes_);
  bytes_.append(bytes);
}

FrameBuffer::Next FrameBuffer::next(std::string_view& body) {
  std::string_view rest = std::string_view(bytes_).substr(taken_);
  if (rest.size() < kLengthBytes) return Next::incomplete;
  const auto length = take_number<std::uint32_t>(rest);
  if (length > kMaxFrameBytes) return Next::too_long;
  if (rest.size() < length) return Next::incomplete;
  body = rest.substr(0, length);
  taken_ += kLengthBytes + length;
  return Next::frame;
}

std::optional<std::string_view> FrameBuffer::take(std::size_t size) {
  if (bytes_.size() - taken_ < size) return std::nullopt;
  const std::string_view bytes = std::string_view(bytes_).substr(taken_, size);
  taken_ += size;
  return bytes;
}

std::string make_greeting(const Nonce& server) {
  std::string out(kMagic);
  append_bytes(out, server);
  return out;
}

std::optional<Nonce> decode_greeting(std::string_view bytes) {
  if (bytes.size() != kGreetingBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  return bytes_at(bytes, kMagic.size());
}

std::string make_response(std::string_view secret, const Nonce& client, const Nonce& server) {
  std::string out(kMagic);
  append_bytes(out, client);
  append_bytes(out, make_proof(secret, Role::client, client, server));
  return out;
}

std::optional<Nonce> decode_response(std::string_view bytes) {
  if (bytes.size() != kResponseBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  return bytes_at(bytes, kMagic.size());
}

bool proves(std::string_view response, std::string_view secret, const Nonce& client, const Nonce& server) {
  return equal_in_constant_time(bytes_at(response, kMagic.size() + sizeof(Nonce)),
                                make_proof(secret, Role::client, client, server));
}

std::string make_verdict(bool welcome, std::string_view secret, const Nonce& client, const Nonce& server) {
  std::string out(1, welcome ? '\1' : '\0');
  append_bytes(out, welcome ? make_proof(secret, Role::server, client, server) : Digest{});
  return out;
}

bool is_welcome(std::string_view verdict, std::string_view secret, const Nonce& client, const Nonce& server) {
  return verdict.size() == kVerdictBytes && verdict.front() == '\1' &&
         equal_in_constant_time(bytes_at(verdict, 1), make_proof(secret, Role::server, client, server));
}

}  // namespace tutti
