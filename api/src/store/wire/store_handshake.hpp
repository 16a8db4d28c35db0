#pragma once

// Handshake between a store's server and a client. Numbers are little-endian, texts are padded with zeros.
//
//   server  magic, server nonce
//   client  magic, client nonce, hello, client's proof
//   server  verdict (1), server's proof, length of the reason (2), reason
//   hello   rank (4; all ones: none), size (4), pid (8), process (16), host (64), job (64)
//
// The client's proof covers the hello, the server's the verdict and the reason. A server refuses a client with another
// secret by a 0 followed by zeros: it proves nothing and tells nothing.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/wire/authentication.hpp"

namespace tutti {

inline constexpr std::string_view kMagic = "tuttist4";
inline constexpr std::size_t kHostBytes = 64;
inline constexpr std::size_t kJobBytes = 64;
inline constexpr std::size_t kMaxReasonBytes = 1024;

/// A client as it introduces itself.
struct Hello {
  std::int32_t rank = -1;  ///< -1: a client that is no rank
  std::int32_t size = 0;   ///< ranks of its job
  std::int64_t pid = 0;
  std::array<std::uint8_t, 16> process{};  ///< random, one for each process: tells equal pids on different hosts apart
  std::string host = {};
  std::string job = {};  ///< the job's id; empty: none

  [[nodiscard]] bool is_same_process(const Hello& other) const noexcept {
    return pid == other.pid && process == other.process;
  }
};

inline constexpr std::size_t kHelloBytes = 4 + 4 + 8 + 16 + kHostBytes + kJobBytes;
inline constexpr std::size_t kGreetingBytes = kMagic.size() + sizeof(Nonce);
inline constexpr std::size_t kResponseBytes = kMagic.size() + sizeof(Nonce) + kHelloBytes + sizeof(Digest);
inline constexpr std::size_t kVerdictHeadBytes = 1 + sizeof(Digest) + 2;

/// The id of a job as the handshake carries it: an id that does not fit is replaced by its digest.
[[nodiscard]] std::string short_job_id(std::string_view id);

[[nodiscard]] std::string make_greeting(const Nonce& server);
/// The server's nonce; std::nullopt if the bytes are not from a server of this protocol.
[[nodiscard]] std::optional<Nonce> decode_greeting(std::string_view bytes);

struct Response {
  Nonce client;
  Hello hello;
};

[[nodiscard]] std::string make_response(std::string_view secret, const Hello& hello, const Nonce& client,
                                        const Nonce& server);
/// std::nullopt if the bytes are not from a client of this protocol. Does not check the proof.
[[nodiscard]] std::optional<Response> decode_response(std::string_view bytes);
/// Whether the bytes, which decode_response() has accepted, prove that the client knows the secret.
[[nodiscard]] bool proves(std::string_view response, std::string_view secret, const Nonce& client, const Nonce& server);

enum class Verdict : std::uint8_t {
  other_secret = 0,
  welcome = 1,
  refused = 2,  ///< for the reason given
};

/// `reason` is cut to kMaxReasonBytes.
[[nodiscard]] std::string make_verdict(Verdict verdict, std::string_view reason, std::string_view secret,
                                       const Nonce& client, const Nonce& server);
/// Length of the reason that follows; std::nullopt if a server of this protocol does not send such a head.
[[nodiscard]] std::optional<std::size_t> reason_bytes(std::string_view verdict_head);
/// The verdict of a head that reason_bytes() has accepted; other_secret unless the server proves that it knows the
/// secret.
[[nodiscard]] Verdict decode_verdict(std::string_view head, std::string_view reason, std::string_view secret,
                                     const Nonce& client, const Nonce& server);

}  // namespace tutti
