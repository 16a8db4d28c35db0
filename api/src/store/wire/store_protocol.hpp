#pragma once

// Frames between a store's server and its clients, after the handshake of store_handshake.hpp. Numbers are
// little-endian. A frame is a length (4), a body of that many bytes and, if the job has a secret, a seal (32):
//
//   request   kind (1), id (8), timeout in ns (8), reads (4), giver (4), length of the key (4), length of the members
//             (4), key, members, value
//   answer    outcome (1), id (8), value
//   failure   a request whose key is a scope, and whose value is the reason, see Store::fail()
//   notice    an answer that no request asked for, with the id kNoticeId
//   seal      HMAC-SHA256 of the frame's number (8), its length and its body. Each direction has a key of its own, made
//             of the secret and both nonces, and counts its frames from 0: a frame that was changed, repeated, moved or
//             left out does not match. Without a secret the kernel checks the user, and frames have no seal.
//
// A client may have many requests pending; each is answered as soon as its answer is known, in any order. A client that
// is a rank ends by a goodbye, which is answered; a connection that ends without it makes the rank a lost one.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/wire/authentication.hpp"
#include "store/wire/store_limits.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

inline constexpr std::size_t kRequestHeadBytes = 1 + 8 + 8 + 4 + 4 + 4 + 4;
inline constexpr std::size_t kAnswerHeadBytes = 1 + 8;
/// A bit for each rank of a job.
inline constexpr std::size_t kMaxMemberBytes = std::size_t{128} << 10;
inline constexpr std::size_t kMaxFrameBytes = kRequestHeadBytes + kMaxKeyBytes + kMaxMemberBytes + kMaxValueBytes;
inline constexpr std::uint64_t kNoticeId = ~std::uint64_t{0};

enum class RequestKind : std::uint8_t { put = 1, get = 2, goodbye = 3, failure = 4 };

enum class Outcome : std::uint8_t {
  ok = 0,
  missing = 1,  ///< the key did not appear in time
  exists = 2,   ///< the key was written before
  full = 3,     ///< the store has no room for the value
  ended = 4,    ///< a rank that the request waits for has ended; the value is a sentence that names it
  lost = 5,     ///< notice: the value lists the ranks lost since the last notice, 4 bytes each
  closing = 6,  ///< notice: the server ends as it should; the value names the rank that failed first, if one did
};

/// The ranks whose end ends a get, see WaitedRanks.
struct Watch {
  std::int32_t giver = kNobody;
  std::string_view members = {};  ///< bit r % 8 of byte r / 8 is set for a member r; empty: all ranks of the job

  static constexpr std::int32_t kNobody = -1;      ///< the end of a rank does not end the wait
  static constexpr std::int32_t kUnknown = -2;     ///< lost members do
  static constexpr std::int32_t kAllMembers = -3;  ///< lost members and members that left do

  [[nodiscard]] bool has(std::int32_t rank) const noexcept;
};

/// The bits of these ranks, for Watch::members. Ranks beyond the limit are left out.
[[nodiscard]] std::string encode_members(const std::vector<int>& ranks);
/// The watch for these ranks; refers to `bits`.
[[nodiscard]] Watch watch_of(const WaitedRanks& ranks, std::string& bits);

struct Request {
  RequestKind kind = RequestKind::get;
  std::uint64_t id = 0;
  std::chrono::nanoseconds timeout{0};  ///< of a get
  std::uint32_t reads = 0;              ///< of a put
  Watch watch = {};                     ///< of a get
  std::string_view key = {};
  std::string_view value = {};
};

struct Answer {
  Outcome outcome = Outcome::ok;
  std::uint64_t id = 0;
  std::string_view value;
};

/// Frames without their seals.
[[nodiscard]] std::string encode(const Request& request);
/// An answer without its value, which is sent from the table without a copy.
[[nodiscard]] std::string encode_head(Outcome outcome, std::uint64_t id, std::size_t value_bytes);
/// std::nullopt for an invalid body; the result refers to the body.
[[nodiscard]] std::optional<Request> decode_request(std::string_view body);
[[nodiscard]] std::optional<Answer> decode_answer(std::string_view body);

/// Value of the notice `lost`.
[[nodiscard]] std::string encode_ranks(const std::vector<int>& ranks);
/// std::nullopt for an invalid value.
[[nodiscard]] std::optional<std::vector<int>> decode_ranks(std::string_view value);

/// Makes or checks the seals of the frames of one direction, in their order.
class FrameSeal {
 public:
  /// Frames have no seal.
  FrameSeal() = default;
  explicit FrameSeal(const Digest& key);
  /// For the frames that `sender` sends; without seals if the secret is empty.
  FrameSeal(std::string_view secret, Role sender, const Nonce& client, const Nonce& server);

  [[nodiscard]] std::size_t bytes() const noexcept { return keyed_ ? sizeof(Digest) : 0; }
  /// Seal of the next frame, which consists of these parts.
  [[nodiscard]] std::string make(std::string_view head, std::string_view value = {});
  /// Whether the seal is that of the next frame.
  [[nodiscard]] bool check(std::string_view frame, std::string_view seal);

 private:
  [[nodiscard]] Digest next(std::string_view head, std::string_view value);

  std::optional<HmacSha256> keyed_;
  std::uint64_t number_ = 0;
};

/// Splits received bytes into frames. Its memory grows with the bytes received, not with the length that a frame
/// announces.
class FrameBuffer {
 public:
  enum class Next : std::uint8_t { frame, incomplete, too_long, forged };

  /// Checks the seals of all frames to come.
  void expect(FrameSeal seal) { seal_ = std::move(seal); }
  void append(std::string_view bytes);
  /// Takes the next frame if it is complete; the body is valid until append(). After too_long or forged the rest is
  /// worthless.
  [[nodiscard]] Next next(std::string_view& body);
  /// Takes the next `size` bytes if that many have arrived; for the handshake, which has no frames.
  [[nodiscard]] std::optional<std::string_view> take(std::size_t size);

 private:
  FrameSeal seal_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace tutti
