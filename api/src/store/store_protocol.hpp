#pragma once

// Protocol between a store's server and its clients. Numbers are little-endian.
//
// Handshake:  server  magic, server nonce
//             client  magic, client nonce, client's proof
//             server  a byte (1: welcome, 0: refused), server's proof (zeros when refused)
// Then frames, each a length (4 bytes) and a body of that many bytes:
//     request   kind (1), id (8), timeout in ns (8), reads (4), length of the key (4), key, value
//     answer    outcome (1), id (8), value
// A client may have many requests pending; each is answered as soon as its answer is known, in any order.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/authentication.hpp"
#include "store/store_limits.hpp"

namespace tutti {

inline constexpr std::string_view kMagic = "tuttist2";
inline constexpr std::size_t kGreetingBytes = kMagic.size() + sizeof(Nonce);
inline constexpr std::size_t kResponseBytes = kMagic.size() + sizeof(Nonce) + sizeof(Digest);
inline constexpr std::size_t kVerdictBytes = 1 + sizeof(Digest);

inline constexpr std::size_t kRequestHeadBytes = 1 + 8 + 8 + 4 + 4;
inline constexpr std::size_t kAnswerHeadBytes = 1 + 8;
inline constexpr std::size_t kMaxFrameBytes = kRequestHeadBytes + kMaxKeyBytes + kMaxValueBytes;

enum class RequestKind : std::uint8_t { put = 1, get = 2 };

enum class Outcome : std::uint8_t {
  ok = 0,
  missing = 1,  ///< the key did not appear in time
  exists = 2,   ///< the key was written before
  full = 3,     ///< the store has no room for the value
};

struct Request {
  RequestKind kind = RequestKind::get;
  std::uint64_t id = 0;
  std::chrono::nanoseconds timeout{0};  ///< of a get
  std::uint32_t reads = 0;              ///< of a put
  std::string_view key = {};
  std::string_view value = {};
};

struct Answer {
  Outcome outcome = Outcome::ok;
  std::uint64_t id = 0;
  std::string_view value;
};

[[nodiscard]] std::string encode(const Request& request);
/// An answer without its value, which is sent from the table without a copy.
[[nodiscard]] std::string encode_head(Outcome outcome, std::uint64_t id, std::size_t value_bytes);
/// std::nullopt for an invalid body; the result refers to the body.
[[nodiscard]] std::optional<Request> decode_request(std::string_view body);
[[nodiscard]] std::optional<Answer> decode_answer(std::string_view body);

/// Splits received bytes into frames. Its memory grows with the bytes received, not with the length that a frame
/// announces.
class FrameBuffer {
 public:
  enum class Next : std::uint8_t { frame, incomplete, too_long };

  void append(std::string_view bytes);
  /// Takes the next frame if it is complete; the body is valid until append().
  [[nodiscard]] Next next(std::string_view& body);
  /// Takes the next `size` bytes if that many have arrived; for the handshake, which has no frames.
  [[nodiscard]] std::optional<std::string_view> take(std::size_t size);

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
};

[[nodiscard]] std::string make_greeting(const Nonce& server);
[[nodiscard]] std::optional<Nonce> decode_greeting(std::string_view bytes);
[[nodiscard]] std::string make_response(std::string_view secret, const Nonce& client, const Nonce& server);
/// The client's nonce; std::nullopt if the bytes are not from a client of this protocol.
[[nodiscard]] std::optional<Nonce> decode_response(std::string_view bytes);
/// Whether the response proves that the client knows the secret.
[[nodiscard]] bool proves(std::string_view response, std::string_view secret, const Nonce& client, const Nonce& server);
[[nodiscard]] std::string make_verdict(bool welcome, std::string_view secret, const Nonce& client, const Nonce& server);
/// Whether the client is welcome and the server has proved that it knows the secret.
[[nodiscard]] bool is_welcome(std::string_view verdict, std::string_view secret, const Nonce& client,
                              const Nonce& server);

}  // namespace tutti
