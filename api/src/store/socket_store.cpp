#include "store/socket_store.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "settings/settings.hpp"
#include "store/wire/socket_transfer.hpp"
#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {
namespace {

// The server answers a get when its timeout has passed; a server that needs this much longer is taken to hang.
constexpr std::chrono::seconds kAnswerTime{30};
// The end of a program must not take long because the server is suspended.
constexpr std::chrono::seconds kGoodbyeTime{1};

Deadline answer_deadline(std::chrono::nanoseconds timeout) noexcept {
  const Deadline due = deadline_after(timeout);
  return due > Deadline::max() - kAnswerTime ? Deadline::max() : due + kAnswerTime;
}

}  // namespace

SocketStore::SocketStore(OpenConnection connection)
    : socket_(std::move(connection.socket)),
      address_(std::move(connection.address)),
      rank_(connection.rank),
      server_rank_(connection.server_rank),
      seal_(std::move(connection.sent)) {
  input_.expect(std::move(connection.received));
}

SocketStore::~SocketStore() { do_leave(); }

void SocketStore::do_leave() noexcept {
  if (!socket_.is_home()) return;
  try {
    const Deadline deadline = deadline_after(kGoodbyeTime);
    // Without the answer the client cannot know that the server has read the goodbye before it sees the connection end.
    if (rank_ >= 0) (void)ask({.kind = RequestKind::goodbye}, deadline);
  } catch (const std::exception&) {
    // The server has ended, or does not answer: there is nobody to say goodbye to.
  }
  const std::lock_guard lock(mutex_);
  if (state_ == State::open) end(State::left);
}

void SocketStore::do_fail(int rank, std::string_view scope, std::string_view reason) noexcept {
  if (rank != rank_ || !socket_.is_home()) return;
  try {
    (void)ask({.kind = RequestKind::failure, .key = scope, .value = reason.substr(0, kMaxReasonBytes)},
              deadline_after(kGoodbyeTime));
  } catch (const std::exception&) {
    // The server has ended, or there is no memory: the others see that the rank leaves.
  }
}

void SocketStore::do_put(std::string_view key, std::string_view value, std::uint32_t reads) {
  check_entry(key, value);
  const Reply reply = ask({.kind = RequestKind::put, .reads = reads, .key = key, .value = value}, answer_deadline({}));
  if (reply.outcome == Outcome::exists) throw_key_exists(key);
  if (reply.outcome != Outcome::ok) {
    throw Error(ErrorCode::system, "the job's store at " + address_ + " is full: no room for the value of '" +
                                       printable(key) + "' (" + std::to_string(value.size()) + " bytes)");
  }
}

std::string SocketStore::do_get(std::string_view key, std::chrono::nanoseconds timeout) {
  return get({.kind = RequestKind::get, .timeout = timeout, .key = key});
}

std::string SocketStore::do_get_from(std::string_view key, std::chrono::nanoseconds timeout, const WaitedRanks& ranks) {
  std::string members;
  return get({.kind = RequestKind::get, .timeout = timeout, .watch = watch_of(ranks, members), .key = key});
}

std::string SocketStore::get(Request request) {
  check_entry(request.key, {});
  Reply reply = ask(request, answer_deadline(request.timeout));
  if (reply.outcome == Outcome::ended) throw Error(ErrorCode::peer_failure, reply.value);
  if (reply.outcome != Outcome::ok) throw_key_missing(request.key, format_duration(request.timeout));
  return std::move(reply.value);
}

std::vector<int> SocketStore::do_lost() {
  if (!socket_.is_home()) return {};
  const std::lock_guard lock(mutex_);
  // A thread that waits for an answer reads the notices, too.
  while (!reading_ && state_ == State::open && read()) {
  }
  std::vector<int> lost = lost_;
  const bool is_server_lost = state_ == State::broken && server_rank_ >= 0;
  if (is_server_lost && std::find(lost.begin(), lost.end(), server_rank_) == lost.end()) lost.push_back(server_rank_);
  return lost;
}

SocketStore::Reply SocketStore::ask(Request request, Deadline deadline) {
  check_home();
  Reply reply;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::open) throw_ended(state_);
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

void SocketStore::send(const Request& request, Deadline deadline) {
  std::string frame = encode(request);
  Transfer result = Transfer::done;
  {
    const std::lock_guard lock(sending_);
    frame += seal_.make(frame);
    result = send_all(socket_.get(), frame, deadline);
  }
  // A server that closed the connection may have sent something before, such as that it ends: the reader finds it.
  if (result != Transfer::late) return;
  const std::lock_guard lock(mutex_);
  // A frame that was sent in part cannot be taken back, so the connection is unusable for all threads.
  end(State::broken);
  throw_silent();
}

void SocketStore::await(std::unique_lock<std::mutex>& lock, const Reply& reply, Deadline deadline) {
  while (!reply.arrived) {
    if (state_ != State::open) throw_ended(state_);
    if (Clock::now() >= deadline) throw_silent();
    if (reading_) {
      changed_.wait_until(lock, deadline);
      continue;
    }
    reading_ = true;
    lock.unlock();
    const bool is_readable = wait_for(socket_.get(), POLLIN, deadline);
    lock.lock();
    if (is_readable && state_ == State::open) (void)read();
    reading_ = false;
    changed_.notify_all();
  }
}

/// Receives data and passes answers to the threads that wait for them; returns whether there was data.
bool SocketStore::read() {
  std::array<char, std::size_t{64} << 10> bytes;
  const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK)) return false;
  if (got <= 0) {
    end(State::broken);
    return false;
  }
  input_.append({bytes.data(), static_cast<std::size_t>(got)});
  std::string_view body;
  while (state_ == State::open) {
    const FrameBuffer::Next next = input_.next(body);
    if (next == FrameBuffer::Next::incomplete) return true;
    const std::optional<Answer> answer =
        next == FrameBuffer::Next::frame ? decode_answer(body) : std::optional<Answer>();
    if (!answer || !take(*answer)) end(State::forged);
  }
  return false;
}

/// Returns false if no server of this protocol sends such an answer.
bool SocketStore::take(const Answer& answer) {
  if (answer.outcome == Outcome::closing) {
    first_failure_ = answer.value;
    end(State::closed);
    return true;
  }
  if (answer.outcome == Outcome::lost) {
    const std::optional<std::vector<int>> ranks = decode_ranks(answer.value);
    if (ranks) lost_.insert(lost_.end(), ranks->begin(), ranks->end());
    return ranks.has_value();
  }
  const auto waiting = pending_.find(answer.id);
  if (waiting == pending_.end()) return answer.id < next_id_;  // its thread has given up meanwhile
  *waiting->second = {true, answer.outcome, std::string(answer.value)};
  pending_.erase(waiting);
  return true;
}

void SocketStore::end(State state) noexcept {
  state_ = state;
  // Also wakes the thread that reads.
  ::shutdown(socket_.get(), SHUT_RDWR);
  changed_.notify_all();
}

void SocketStore::check_home() const {
  if (socket_.is_home()) return;
  throw Error(ErrorCode::invalid_usage, "the connection to the job's store at " + address_ +
                                            " belongs to the parent of this process; a forked child cannot use it");
}

void SocketStore::throw_ended(State state) const {
  const std::string store = "the job's store at " + address_;
  if (state == State::left) {
    throw Error(ErrorCode::invalid_usage, store + " was used after this rank had left the job");
  }
  if (state == State::forged) {
    throw Error(ErrorCode::system, "the connection to " + store +
                                       " carried a frame that the server did not send in this form or at this place; "
                                       "something between this process and the server changes the data");
  }
  if (server_rank_ >= 0 && server_rank_ == rank_) {
    throw Error(ErrorCode::system, store + ", which this rank serves, has failed, for lack of memory for example");
  }
  if (state == State::closed && !first_failure_.empty()) {
    throw Error(ErrorCode::peer_failure, store + " has ended after a failure: " + first_failure_);
  }
  if (server_rank_ >= 0) {
    throw Error(ErrorCode::peer_failure,
                store + " is gone: rank " + std::to_string(server_rank_) + " of the job, which serves it, ended");
  }
  throw Error(ErrorCode::system, store + " is gone: rank 0 or the launcher ended");
}

void SocketStore::throw_silent() const {
  throw Error(ErrorCode::timeout,
              "the job's store at " + address_ + " does not answer; check whether rank 0 or the launcher is suspended");
}

}  // namespace tutti
