#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tutti/export.hpp"

namespace tutti {

using Digest = std::array<std::uint8_t, 32>;
using Nonce = std::array<std::uint8_t, 32>;

/// SHA-256 of FIPS 180-4.
[[nodiscard]] TUTTI_API Digest sha256(std::string_view message);

/// HMAC of RFC 2104 with SHA-256.
[[nodiscard]] TUTTI_API Digest hmac_sha256(std::string_view key, std::string_view message);

/// Takes the same time wherever the first difference is, so that an attacker learns nothing from the time of a refusal.
[[nodiscard]] TUTTI_API bool equal_in_constant_time(std::span<const std::uint8_t> a,
                                                    std::span<const std::uint8_t> b) noexcept;

/// Random bytes from the operating system. Throws Error{system} if it has none.
[[nodiscard]] TUTTI_API Nonce make_nonce();

[[nodiscard]] TUTTI_API std::string hexadecimal(std::span<const std::uint8_t> bytes);

enum class Role : std::uint8_t { client, server };

/// Proof that a side knows the secret. It depends on both nonces, so it cannot be replayed, and on the role, so a
/// side's own proof cannot be sent back to it.
[[nodiscard]] TUTTI_API Digest make_proof(std::string_view secret, Role role, const Nonce& client, const Nonce& server);

}  // namespace tutti
