#include "store/wire/authentication.hpp"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

constexpr std::size_t kBlockBytes = Sha256::kBlockBytes;

constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

void compress(std::array<std::uint32_t, 8>& state, const std::uint8_t* block) noexcept {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::uint8_t* p = block + 4 * i;
    w[i] = std::uint32_t{p[0]} << 24 | std::uint32_t{p[1]} << 16 | std::uint32_t{p[2]} << 8 | std::uint32_t{p[3]};
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> added = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

std::string_view as_text(std::span<const std::uint8_t> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void Sha256::add(std::string_view bytes) noexcept {
  const auto* next = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t left = bytes.size();
  bytes_ += left;
  if (filled_ > 0) {
    const std::size_t part = std::min(left, kBlockBytes - filled_);
    std::copy_n(next, part, block_.begin() + static_cast<std::ptrdiff_t>(filled_));
    filled_ += part;
    next += part;
    left -= part;
    if (filled_ < kBlockBytes) return;
    compress(state_, block_.data());
  }
  for (; left >= kBlockBytes; left -= kBlockBytes, next += kBlockBytes) compress(state_, next);
  std::copy_n(next, left, block_.begin());
  filled_ = left;
}

Digest Sha256::finish() noexcept {
  // Padding: the rest, a one bit, zeros and the length in the last 8 bytes; two blocks if they do not fit one.
  const std::uint64_t bits = bytes_ * 8;
  std::array<std::uint8_t, 2 * kBlockBytes> tail{};
  std::copy_n(block_.begin(), filled_, tail.begin());
  tail[filled_] = 0x80;
  const std::size_t end = filled_ + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  for (std::size_t i = 0; i < 8; ++i) tail[end - 1 - i] = static_cast<std::uint8_t>(bits >> (8 * i));
  for (std::size_t at = 0; at < end; at += kBlockBytes) compress(state_, tail.data() + at);

  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
  }
  return digest;
}

HmacSha256::HmacSha256(std::string_view key) noexcept {
  const Digest hashed = sha256(key);
  const std::string_view short_key = key.size() > kBlockBytes ? as_text(hashed) : key;
  std::array<char, kBlockBytes> inner;
  std::array<char, kBlockBytes> outer;
  inner.fill('\x36');
  outer.fill('\x5c');
  for (std::size_t i = 0; i < short_key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ short_key[i]);
    outer[i] = static_cast<char>(outer[i] ^ short_key[i]);
  }
  inner_.add({inner.data(), inner.size()});
  outer_.add({outer.data(), outer.size()});
}

Digest HmacSha256::finish() noexcept {
  const Digest first = inner_.finish();
  outer_.add(as_text(first));
  return outer_.finish();
}

Digest sha256(std::string_view message) {
  Sha256 hash;
  hash.add(message);
  return hash.finish();
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
  HmacSha256 hmac(key);
  hmac.add(message);
  return hmac.finish();
}

bool equal_in_constant_time(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) noexcept {
  if (a.size() != b.size()) return false;
  // Volatile keeps the compiler from leaving the loop early.
  volatile std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  return difference == 0;
}

Nonce make_nonce() {
  Nonce nonce;
  std::size_t filled = 0;
  while (filled < nonce.size()) {
    const ssize_t got = ::getrandom(nonce.data() + filled, nonce.size() - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::system, "cannot get random bytes (getrandom): " + std::generic_category().message(errno),
                  {}, errno);
    }
    filled += static_cast<std::size_t>(got);
  }
  return nonce;
}

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Digest make_proof(std::string_view secret, Role role, const Nonce& client, const Nonce& server,
                  std::string_view statement) {
  HmacSha256 hmac(secret);
  hmac.add(role == Role::client ? "tutti store 3 client" : "tutti store 3 server");
  hmac.add(as_text(client));
  hmac.add(as_text(server));
  hmac.add(statement);
  return hmac.finish();
}

Digest make_session_key(std::string_view secret, Role sender, const Nonce& client, const Nonce& server) {
  HmacSha256 hmac(secret);
  hmac.add(sender == Role::client ? "tutti store 3 key of client" : "tutti store 3 key of server");
  hmac.add(as_text(client));
  hmac.add(as_text(server));
  return hmac.finish();
}

std::string make_secret() { return hexadecimal(make_nonce()); }

}  // namespace tutti
