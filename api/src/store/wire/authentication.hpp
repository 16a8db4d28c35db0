#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tutti/export.hpp"

namespace tutti {

using Digest = std::array<std::uint8_t, 32>;
using Nonce = std::array<std::uint8_t, 32>;

/// SHA-256 of FIPS 180-4, of bytes that come in parts.
class TUTTI_API Sha256 {
 public:
  static constexpr std::size_t kBlockBytes = 64;

  void add(std::string_view bytes) noexcept;
  /// The digest of all bytes; the object cannot be used afterwards.
  [[nodiscard]] Digest finish() noexcept;

 private:
  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlockBytes> block_{};
  std::size_t filled_ = 0;  ///< bytes in block_
  std::uint64_t bytes_ = 0;
};

/// HMAC of RFC 2104 with SHA-256, of bytes that come in parts. A copy continues where the original is: the key needs to
/// be processed once only.
class TUTTI_API HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key) noexcept;

  void add(std::string_view bytes) noexcept { inner_.add(bytes); }
  /// The code of all bytes; the object cannot be used afterwards.
  [[nodiscard]] Digest finish() noexcept;

 private:
  Sha256 inner_;
  Sha256 outer_;
};

/// SHA-256 of a whole message.
[[nodiscard]] TUTTI_API Digest sha256(std::string_view message);

/// HMAC of a whole message.
[[nodiscard]] TUTTI_API Digest hmac_sha256(std::string_view key, std::string_view message);

/// Takes the same time wherever the first difference is, so that an attacker learns nothing from the time of a refusal.
[[nodiscard]] TUTTI_API bool equal_in_constant_time(std::span<const std::uint8_t> a,
                                                    std::span<const std::uint8_t> b) noexcept;

/// Random bytes from the operating system. Throws Error{system} if it has none.
[[nodiscard]] TUTTI_API Nonce make_nonce();

[[nodiscard]] TUTTI_API std::string hexadecimal(std::span<const std::uint8_t> bytes);

enum class Role : std::uint8_t { client, server };

/// Proof that a side knows the secret and makes this statement. It depends on both nonces, so it cannot be replayed,
/// and on the role, so a side's own proof cannot be sent back to it.
[[nodiscard]] TUTTI_API Digest make_proof(std::string_view secret, Role role, const Nonce& client, const Nonce& server,
                                          std::string_view statement);

/// Key of the frames that `sender` sends on one connection.
[[nodiscard]] TUTTI_API Digest make_session_key(std::string_view secret, Role sender, const Nonce& client,
                                                const Nonce& server);

}  // namespace tutti
