// Fuzzer of the store's protocol: feeds mutated handshakes and frames to the parsers, to a session of the server and to
// a client. Every input must end in a well-defined way, and bytes that were changed on the way must not have an effect.
//
//   store_fuzz [--runs N] [--seed S] [--first I]
//
// Input I of a seed is always the same: a failure names I, and --first I --runs 1 repeats it.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "store/socket_store.hpp"
#include "store/store_session.hpp"
#include "store/wire/store_bytes.hpp"
#include "store/wire/store_handshake.hpp"
#include "store/wire/store_protocol.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }

Nonce random_nonce(Random& random) {
  Nonce nonce;
  for (std::uint8_t& byte : nonce) byte = static_cast<std::uint8_t>(random());
  return nonce;
}

std::string random_bytes(Random& random, std::size_t most) {
  std::string bytes(below(random, most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

[[noreturn]] void fail(const std::string& why) { throw std::logic_error(why); }

/// Changes a message in one of many ways; the result may be equal to the original.
std::string mutate(Random& random, std::string bytes) {
  for (std::uint64_t rounds = 1 + below(random, 3); rounds > 0; --rounds) {
    const std::size_t at = below(random, bytes.size() + 1);
    const std::size_t length = std::min<std::size_t>(1 + below(random, 40), bytes.size() - at);
    switch (below(random, 7)) {
      case 0:  // a bit
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(random, 8));
        break;
      case 1:  // a byte, with a preference for limits
        if (at < bytes.size()) bytes[at] = "\0\1\x7f\x80\xff"[below(random, 5)];
        break;
      case 2:
        bytes.insert(at, random_bytes(random, 40));
        break;
      case 3:
        bytes.erase(at, length);
        break;
      case 4:  // a part again
        bytes.insert(at, bytes.substr(at, length));
        break;
      case 5:
        bytes.resize(at);
        break;
      default:  // a number at the front or elsewhere
        for (std::size_t i = at; i < std::min(bytes.size(), at + 4); ++i) bytes[i] = static_cast<char>(random());
    }
  }
  return bytes;
}

/// Two connected sockets, the first non-blocking.
struct SocketPair {
  SocketPair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) fail("socketpair");
    tested = spi::FileDescriptor(ends[0]);
    other = spi::FileDescriptor(ends[1]);
  }
  /// All bytes of the stream, and its end.
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;  // the tested side has closed, or does not read more than fits
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    ::shutdown(other.get(), SHUT_WR);
  }
  void drain() const {
    std::array<char, 65536> bytes;
    while (::recv(other.get(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }

  spi::FileDescriptor tested;
  spi::FileDescriptor other;
};

/// A stream of messages. Bytes before `intact` are as the sender sent them.
struct Stream {
  std::string bytes;
  std::size_t intact = 0;
};

/// Mutates the whole stream or nothing.
Stream tamper(Random& random, const std::string& original) {
  Stream stream{original, original.size()};
  if (below(random, 4) == 0) return stream;
  stream.bytes = mutate(random, original);
  const auto differ = std::mismatch(original.begin(), original.end(), stream.bytes.begin(), stream.bytes.end());
  stream.intact = static_cast<std::size_t>(differ.first - original.begin());
  return stream;
}

/// The parsers alone, on bytes that may be anything.
void feed_parsers(Random& random) {
  const Request sound{.kind = below(random, 2) == 0 ? RequestKind::put : RequestKind::get,
                      .id = random(),
                      .timeout = std::chrono::nanoseconds(static_cast<std::int64_t>(random() >> 1)),
                      .key = "key",
                      .value = {}};
  std::string bytes = mutate(random, encode(sound));
  if (below(random, 4) == 0) bytes = random_bytes(random, 300);
  FrameBuffer buffer;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    buffer.append(take_bytes(rest, std::min<std::size_t>(rest.size(), 1 + below(random, 30))));
    std::string_view body;
    while (buffer.next(body) == FrameBuffer::Next::frame) {
      if (const auto request = decode_request(body)) {
        if (request->kind != RequestKind::goodbye && request->key.empty()) fail("a request without a key was accepted");
        (void)request->watch.has(static_cast<std::int32_t>(below(random, 1U << 31)));
        if (encode(*request).size() != 4 + body.size()) fail("a request does not have the size of its bytes");
      }
      if (const auto answer = decode_answer(body)) (void)decode_ranks(answer->value);
    }
  }
  const Nonce client = random_nonce(random);
  const Nonce server = random_nonce(random);
  (void)decode_greeting(mutate(random, make_greeting(server)));
  const std::string response = mutate(random, make_response("secret", {.rank = 1, .size = 2}, client, server));
  if (const auto decoded = decode_response(response)) {
    const bool is_same = response == make_response("secret", {.rank = 1, .size = 2}, client, server);
    if (proves(response, "secret", decoded->client, server) && !is_same) fail("a changed response proves the secret");
  }
  const std::string verdict = make_verdict(Verdict::refused, "reason", "secret", client, server);
  const std::string changed = mutate(random, verdict);
  const std::string_view head = std::string_view(changed).substr(0, kVerdictHeadBytes);
  if (const auto length = reason_bytes(head)) {
    const std::string_view reason = std::string_view(changed).substr(kVerdictHeadBytes).substr(0, *length);
    const Verdict said = decode_verdict(head, reason, "secret", client, server);
    if (reason.size() == *length && said != Verdict::other_secret && std::string(head).append(reason) != verdict) {
      fail("a changed verdict was accepted");
    }
  }
}

/// A client's requests; request i puts the key "k<i>", unless its body was mutated before it was sealed.
struct Requests {
  std::string bytes;
  std::vector<std::size_t> ends;  ///< of the puts
};

Requests make_requests(Random& random, FrameSeal seal, bool may_be_unsound) {
  Requests requests;
  for (std::uint64_t i = 0, count = below(random, 6); i < count; ++i) {
    const std::string key = "k" + std::to_string(i);
    const std::string value = random_bytes(random, 100);
    std::string frame = encode({.kind = RequestKind::put, .id = i, .key = key, .value = value});
    if (may_be_unsound && below(random, 2) == 0) {
      const std::string body = mutate(random, frame.substr(4));
      frame.clear();
      append_number(frame, static_cast<std::uint32_t>(body.size()));
      frame += body;
    }
    requests.bytes += frame + seal.make(frame);
    requests.ends.push_back(requests.bytes.size());
    if (below(random, 4) == 0) {
      const std::string failure =
          encode({.kind = RequestKind::failure, .id = random(), .key = key, .value = random_bytes(random, 100)});
      requests.bytes += failure + seal.make(failure);
    }
    if (below(random, 3) > 0) continue;
    const std::string members = random_bytes(random, 3);
    const std::string get =
        encode({.kind = RequestKind::get,
                .id = random(),
                .timeout = std::chrono::nanoseconds(below(random, 3)),
                .watch = {.giver = static_cast<std::int32_t>(below(random, 6)) - 4, .members = members},
                .key = "k0"});
    requests.bytes += get + seal.make(get);
  }
  if (below(random, 3) == 0) {
    const std::string goodbye = encode({.kind = RequestKind::goodbye, .id = 99});
    requests.bytes += goodbye + seal.make(goodbye);
  }
  return requests;
}

/// Receiver of answers that asks whether keys are in the table.
class Inspector final : public StoreTable::Client {
 public:
  bool has(StoreTable& table, const std::string& key) {
    table.get(*this, 0, key, std::chrono::nanoseconds(0), {});
    return found_;
  }
  void answer(Outcome outcome, std::uint64_t /*id*/, std::shared_ptr<const std::string> /*value*/) override {
    found_ = outcome == Outcome::ok;
  }
  [[nodiscard]] std::uint32_t generation() const noexcept override { return 0; }

 private:
  bool found_ = false;
};

void feed_server(Random& random) {
  const bool has_secret = below(random, 4) != 0;
  const std::string secret = has_secret ? "a secret of the job" : "";
  const Nonce client = random_nonce(random);
  const Nonce server = random_nonce(random);
  const Hello hello{.rank = static_cast<std::int32_t>(below(random, 4)) - 1, .size = 3, .pid = 7, .host = "host"};
  const bool may_be_unsound = below(random, 2) == 0;
  const std::string handshake = make_response(secret, hello, client, server);
  const Requests requests = make_requests(random, FrameSeal(secret, Role::client, client, server), may_be_unsound);
  const Stream stream = tamper(random, handshake + requests.bytes);

  SocketPair sockets;
  StoreShared shared{.secret = secret, .members = {"", 0}};
  {
    StoreSession session(
        HomeDescriptor(std::move(sockets.tested)), shared, [](StoreSession&) {}, server);
    sockets.send(stream.bytes);
    for (int turn = 0; turn < 100 && !session.is_over(); ++turn) {
      session.receive();
      session.flush();
      sockets.drain();
      shared.table.expire(Deadline::max());
    }
    if (!session.is_over()) fail("a session did not end with its connection");
    if (session.lose_rank()) shared.table.end_waits();
  }
  if (!has_secret || may_be_unsound) return;
  Inspector inspector;
  for (std::size_t i = 0; i < requests.ends.size(); ++i) {
    const bool is_intact = handshake.size() + requests.ends[i] <= stream.intact;
    if (inspector.has(shared.table, "k" + std::to_string(i)) != is_intact) {
      fail(is_intact ? "an intact request was not served" : "a changed request was served");
    }
  }
}

/// Uses a store until it fails; the values that it returns must be those of the stream.
void use_store(Store& store, bool is_trusted) {
  try {
    for (int i = 0; i < 5; ++i) {
      (void)store.lost();
      if (store.get("key", std::chrono::nanoseconds(1)) != "value" + std::to_string(i) && is_trusted) {
        fail("a changed value was returned");
      }
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) fail(error.what());
  }
  (void)store.lost();
}

void feed_client(Random& random) {
  const bool has_secret = below(random, 4) != 0;
  const std::string secret = has_secret ? "a secret of the job" : "";
  const Nonce client = random_nonce(random);
  const Nonce server = random_nonce(random);
  const bool may_be_unsound = below(random, 2) == 0;
  const Verdict verdict = below(random, 8) == 0 ? Verdict::refused : Verdict::welcome;
  std::string bytes = make_greeting(server) +
                      make_verdict(verdict, verdict == Verdict::refused ? "reason" : "", secret, client, server);
  FrameSeal seal(secret, Role::server, client, server);
  const auto add = [&](Outcome outcome, std::uint64_t id, const std::string& value) {
    std::string body = encode_head(outcome, id, value.size()).substr(4) + value;
    if (may_be_unsound && below(random, 2) == 0) body = mutate(random, body);
    std::string frame;
    append_number(frame, static_cast<std::uint32_t>(body.size()));
    frame += body;
    bytes += frame + seal.make(frame);
  };
  for (std::uint64_t i = 0, count = below(random, 7); i < count; ++i) {
    if (below(random, 4) == 0) add(Outcome::lost, kNoticeId, encode_ranks({1, static_cast<int>(i)}));
    if (below(random, 16) == 0) add(Outcome::closing, kNoticeId, {});
    add(Outcome::ok, i, "value" + std::to_string(i));
  }
  const Stream stream = tamper(random, bytes);

  SocketPair sockets;
  sockets.send(stream.bytes);
  std::string failure;
  const JobMember member{.rank = static_cast<int>(below(random, 3)) - 1, .size = 2, .server_rank = 0};
  try {
    const std::shared_ptr<Store> store =
        open_store(std::move(sockets.tested), "fuzz", secret, member, Deadline::max(), failure, client);
    if (store == nullptr && failure.empty()) fail("a handshake failed without a reason");
    if (store == nullptr) return;
    if (has_secret && stream.intact < kGreetingBytes + kVerdictHeadBytes) fail("a changed handshake was accepted");
    use_store(*store, has_secret && !may_be_unsound);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_argument) fail(error.what());
  }
}

bool run(std::uint64_t seed, std::uint64_t input) {
  Random random(seed * 1'000'000'007 + input);
  try {
    const std::array<void (*)(Random&), 3> parts = {feed_parsers, feed_server, feed_client};
    parts[input % parts.size()](random);
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "store_fuzz: input %llu of seed %llu: %s\n", static_cast<unsigned long long>(input),
                 static_cast<unsigned long long>(seed), error.what());
    return false;
  }
}

}  // namespace
}  // namespace tutti

int main(int count, char** arguments) {
  std::uint64_t runs = 20'000;
  std::uint64_t seed = 1;
  std::uint64_t first = 0;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    std::uint64_t* const value = name == "--runs"    ? &runs
                                 : name == "--seed"  ? &seed
                                 : name == "--first" ? &first
                                                     : nullptr;
    const std::string_view text = ++i < count ? arguments[i] : "";
    if (value == nullptr || text.empty() ||
        std::from_chars(text.data(), text.data() + text.size(), *value).ptr != text.data() + text.size()) {
      std::fprintf(stderr, "usage: store_fuzz [--runs N] [--seed S] [--first I]\n");
      return 2;
    }
  }
  for (std::uint64_t input = first; input < first + runs; ++input) {
    if (!tutti::run(seed, input)) return 1;
  }
  std::printf("store_fuzz: %llu inputs of seed %llu\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  return 0;
}
