#include "store/wire/store_handshake.hpp"

#include "store/wire/store_bytes.hpp"

namespace tutti {
namespace {

constexpr std::size_t kHelloOffset = kMagic.size() + sizeof(Nonce);

std::string encode_hello(const Hello& hello) {
  std::string out;
  out.reserve(kHelloBytes);
  append_number(out, static_cast<std::uint32_t>(hello.rank));
  append_number(out, static_cast<std::uint32_t>(hello.size));
  append_number(out, static_cast<std::uint64_t>(hello.pid));
  append_array(out, hello.process);
  append_text(out, hello.host, kHostBytes);
  append_text(out, hello.job, kJobBytes);
  return out;
}

Hello take_hello(std::string_view& in) {
  Hello hello;
  hello.rank = static_cast<std::int32_t>(take_number<std::uint32_t>(in));
  hello.size = static_cast<std::int32_t>(take_number<std::uint32_t>(in));
  hello.pid = static_cast<std::int64_t>(take_number<std::uint64_t>(in));
  hello.process = take_array<sizeof hello.process>(in);
  hello.host = take_text(in, kHostBytes);
  hello.job = take_text(in, kJobBytes);
  return hello;
}

Digest server_proof(Verdict verdict, std::string_view reason, std::string_view secret, const Nonce& client,
                    const Nonce& server) {
  std::string statement(1, static_cast<char>(verdict));
  return make_proof(secret, Role::server, client, server, statement.append(reason));
}

}  // namespace

std::string short_job_id(std::string_view id) {
  const bool fits = id.size() <= kJobBytes && id.find('\0') == std::string_view::npos;
  static_assert(2 * sizeof(Digest) <= kJobBytes);
  return fits ? std::string(id) : hexadecimal(sha256(id));
}

std::string make_greeting(const Nonce& server) {
  std::string out(kMagic);
  append_array(out, server);
  return out;
}

std::optional<Nonce> decode_greeting(std::string_view bytes) {
  if (bytes.size() != kGreetingBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  return take_array<sizeof(Nonce)>(bytes);
}

std::string make_response(std::string_view secret, const Hello& hello, const Nonce& client, const Nonce& server) {
  std::string out(kMagic);
  const std::string statement = encode_hello(hello);
  append_array(out, client);
  out.append(statement);
  append_array(out, make_proof(secret, Role::client, client, server, statement));
  return out;
}

std::optional<Response> decode_response(std::string_view bytes) {
  if (bytes.size() != kResponseBytes || !bytes.starts_with(kMagic)) return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  Response response;
  response.client = take_array<sizeof(Nonce)>(bytes);
  response.hello = take_hello(bytes);
  return response;
}

bool proves(std::string_view response, std::string_view secret, const Nonce& client, const Nonce& server) {
  response.remove_prefix(kHelloOffset);
  const std::string_view statement = take_bytes(response, kHelloBytes);
  return equal_in_constant_time(take_array<sizeof(Digest)>(response),
                                make_proof(secret, Role::client, client, server, statement));
}

std::string make_verdict(Verdict verdict, std::string_view reason, std::string_view secret, const Nonce& client,
                         const Nonce& server) {
  if (verdict == Verdict::other_secret) return std::string(kVerdictHeadBytes, '\0');
  reason = reason.substr(0, kMaxReasonBytes);
  std::string out(1, static_cast<char>(verdict));
  append_array(out, server_proof(verdict, reason, secret, client, server));
  append_number(out, static_cast<std::uint16_t>(reason.size()));
  return out.append(reason);
}

std::optional<std::size_t> reason_bytes(std::string_view verdict_head) {
  if (verdict_head.size() != kVerdictHeadBytes) return std::nullopt;
  if (static_cast<std::uint8_t>(verdict_head.front()) > static_cast<std::uint8_t>(Verdict::refused))
    return std::nullopt;
  verdict_head.remove_prefix(1 + sizeof(Digest));
  const std::size_t bytes = take_number<std::uint16_t>(verdict_head);
  return bytes <= kMaxReasonBytes ? std::optional(bytes) : std::nullopt;
}

Verdict decode_verdict(std::string_view head, std::string_view reason, std::string_view secret, const Nonce& client,
                       const Nonce& server) {
  const auto verdict = static_cast<Verdict>(head.front());
  head.remove_prefix(1);
  if (verdict == Verdict::other_secret) return verdict;
  const bool is_proven =
      equal_in_constant_time(take_array<sizeof(Digest)>(head), server_proof(verdict, reason, secret, client, server));
  return is_proven ? verdict : Verdict::other_secret;
}

}  // namespace tutti
