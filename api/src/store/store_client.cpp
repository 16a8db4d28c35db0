#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "store/deadline.hpp"
#include "store/socket_address.hpp"
#include "store/store_protocol.hpp"
#include "tutti/error.hpp"
#include "tutti/operation.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/abstract_socket.hpp"

namespace tutti {
namespace {

constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{200};
// The server answers a get when its timeout has passed; a server that needs this much longer is taken to hang.
constexpr std::chrono::seconds kAnswerTime{30};

/// Returns false if the deadline passes first.
bool wait_for(int socket, short events, Deadline deadline) {
  pollfd ready{socket, events, 0};
  while (true) {
    const int count = ::poll(&ready, 1, poll_timeout(deadline));
    // Any failure but a signal is passed on as an event: the send or recv that follows tells the reason.
    if (count > 0 || (count < 0 && errno != EINTR)) return true;
    if (Clock::now() >= deadline) return false;
  }
}

enum class Transfer : std::uint8_t { done, late, closed };

Transfer send_all(int socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLOUT, deadline)) return Transfer::late;
    } else if (errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

/// Fills the whole string; for the handshake.
Transfer receive_all(int socket, std::string& bytes, Deadline deadline) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::recv(socket, bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(socket, POLLIN, deadline)) return Transfer::late;
    } else if (got == 0 || errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

/// A store over one connection that any number of threads share. It has no thread of its own: one of the waiting
/// threads reads the answers for all, and another one takes over when the first has its own answer.
class SocketStore final : public Store {
 public:
  SocketStore(spi::FileDescriptor socket, std::string address)
      : socket_(std::move(socket)), address_(std::move(address)) {}

 private:
  struct Reply {
    bool arrived = false;
    Outcome outcome = Outcome::ok;
    std::string value;
  };

  void do_put(std::string_view key, std::string_view value, std::uint32_t reads) override {
    check_entry(key, value);
    const Reply reply = ask({.kind = RequestKind::put, .reads = reads, .key = key, .value = value});
    if (reply.outcome == Outcome::exists) throw_key_exists(key);
    if (reply.outcome != Outcome::ok) {
      throw Error(ErrorCode::system, "the job's store at " + address_ + " is full: no room for the value of '" +
                                         std::string(key) + "' (" + std::to_string(value.size()) + " bytes)");
    }
  }

  std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) override {
    check_entry(key, {});
    Reply reply = ask({.kind = RequestKind::get, .timeout = timeout, .key = key});
    if (reply.outcome != Outcome::ok) throw_key_missing(key, format_duration(timeout));
    return std::move(reply.value);
  }

  Reply ask(Request request) {
    const Deadline due = deadline_after(request.timeout);
    const Deadline deadline = due > Deadline::max() - kAnswerTime ? Deadline::max() : due + kAnswerTime;
    Reply reply;
    {
      const std::lock_guard lock(mutex_);
      if (gone_) throw_gone();
      request.id = next_id_++;
      pending_.emplace(request.id, &reply);
    }
    try {
      send(request, deadline);
      std::unique_lock lock(mutex_);
      await(lock, reply, deadline);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      pending_.erase(request.id);
      throw;
    }
    return reply;
  }

  void send(const Request& request, Deadline deadline) {
    const std::string frame = encode(request);
    const std::lock_guard lock(sending_);
    const Transfer result = send_all(socket_.get(), frame, deadline);
    if (result == Transfer::done) return;
    // A frame that was sent in part cannot be taken back, so the connection is unusable for all threads.
    fail();
    if (result == Transfer::late) throw_silent();
    throw_gone();
  }

  void await(std::unique_lock<std::mutex>& lock, const Reply& reply, Deadline deadline) {
    while (!reply.arrived) {
      if (gone_) throw_gone();
      if (Clock::now() >= deadline) throw_silent();
      if (reading_) {
        changed_.wait_until(lock, deadline);
        continue;
      }
      reading_ = true;
      lock.unlock();
      const bool readable = wait_for(socket_.get(), POLLIN, deadline);
      lock.lock();
      if (readable) read();
      reading_ = false;
      changed_.notify_all();
    }
  }

  /// Receives data and passes answers to the threads that wait for them. Requires the lock of mutex_.
  void read() {
    std::array<char, std::size_t{64} << 10> bytes;
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      gone_ = true;
      return;
    }
    input_.append({bytes.data(), static_cast<std::size_t>(got)});
    std::string_view body;
    while (true) {
      const FrameBuffer::Next next = input_.next(body);
      if (next == FrameBuffer::Next::incomplete) return;
      const std::optional<Answer> answer =
          next == FrameBuffer::Next::frame ? decode_answer(body) : std::optional<Answer>();
      if (!answer) {
        gone_ = true;
        return;
      }
      const auto waiting = pending_.find(answer->id);
      if (waiting == pending_.end()) continue;  // its thread has given up meanwhile
      *waiting->second = {true, answer->outcome, std::string(answer->value)};
      pending_.erase(waiting);
    }
  }

  void fail() {
    {
      const std::lock_guard lock(mutex_);
      gone_ = true;
    }
    // Also wakes the thread that reads.
    ::shutdown(socket_.get(), SHUT_RDWR);
    changed_.notify_all();
  }

  [[noreturn]] void throw_gone() const {
    throw Error(ErrorCode::system, "the job's store at " + address_ + " is gone: rank 0 or the launcher ended");
  }

  [[noreturn]] void throw_silent() const {
    throw Error(ErrorCode::timeout, "the job's store at " + address_ +
                                        " does not answer; check whether rank 0 or the launcher is suspended");
  }

  const spi::FileDescriptor socket_;
  const std::string address_;
  std::mutex sending_;  ///< never taken while mutex_ is held
  std::mutex mutex_;    ///< protects all members below
  std::condition_variable changed_;
  std::map<std::uint64_t, Reply*> pending_;
  std::uint64_t next_id_ = 0;
  bool reading_ = false;
  bool gone_ = false;
  FrameBuffer input_;
};

/// Authenticates both sides with the secret. Throws if one of them does not know it.
Transfer shake_hands(int socket, const std::string& address, std::string_view secret, Deadline deadline) {
  std::string greeting(kGreetingBytes, '\0');
  if (const Transfer result = receive_all(socket, greeting, deadline); result != Transfer::done) return result;
  const std::optional<Nonce> server = decode_greeting(greeting);
  if (!server)
    throw Error(ErrorCode::invalid_argument, "the server at " + address + " is not a tutti store of this version");
  const Nonce client = make_nonce();
  const std::string response = make_response(secret, client, *server);
  if (const Transfer result = send_all(socket, response, deadline); result != Transfer::done) return result;
  std::string verdict(kVerdictBytes, '\0');
  if (const Transfer result = receive_all(socket, verdict, deadline); result != Transfer::done) return result;
  if (!is_welcome(verdict, secret, client, *server)) {
    throw Error(ErrorCode::invalid_argument,
                "the job's store at " + address + " and this process do not have the same secret (TUTTI_JOB_SECRET)");
  }
  return Transfer::done;
}

}  // namespace

std::shared_ptr<Store> connect_store(std::string_view address, std::string_view secret,
                                     std::chrono::nanoseconds timeout) {
  const SocketAddress where = SocketAddress::parse(address);
  const std::string text = where.text();
  if (secret.empty() && !where.is_unix) {
    throw Error(ErrorCode::invalid_argument,
                "the store at " + text + " needs a secret (TUTTI_JOB_SECRET); only unix: addresses work without");
  }
  const Deadline deadline = deadline_after(timeout);
  for (std::chrono::nanoseconds pause = kFirstPause;;
       pause = std::min<std::chrono::nanoseconds>(2 * pause, kLongestPause)) {
    Connection connection = connect_to(where, deadline);
    if (connection.socket) {
      if (where.is_unix && !spi::is_of_same_user(connection.socket.get())) {
        throw Error(ErrorCode::invalid_argument, "the server at " + text + " belongs to another user");
      }
      tune_socket(where, connection.socket.get());
      const Transfer result = shake_hands(connection.socket.get(), text, secret, deadline);
      if (result == Transfer::done) return std::make_shared<SocketStore>(std::move(connection.socket), text);
      connection.failure = result == Transfer::late ? "a server listens there, but does not answer like a tutti store"
                                                    : "the connection was closed during the handshake";
    }
    if (Clock::now() >= deadline) {
      throw Error(ErrorCode::timeout, "no connection to the job's store at " + text + " within " +
                                          format_duration(timeout) + ": " + connection.failure);
    }
    std::this_thread::sleep_for(std::min(pause, time_left(deadline)));
  }
}

}  // namespace tutti
