#include "store/store_session.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace tutti {
namespace {

constexpr std::chrono::seconds kHandshakeTime{5};
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr int kReadsPerTurn = 4;
constexpr std::size_t kMaxQueuedAnswers = 1024;
constexpr std::size_t kMaxUnanswered = 4096;

}  // namespace

StoreSession::StoreSession(HomeDescriptor socket, StoreShared& shared, std::function<void(StoreSession&)> answered,
                           const Nonce& nonce)
    : socket_(std::move(socket)),
      shared_(shared),
      answered_(std::move(answered)),
      nonce_(nonce),
      handshake_deadline_(deadline_after(kHandshakeTime)) {
  send_later(make_greeting(nonce_), nullptr, {});
}

StoreSession::~StoreSession() { shared_.table.forget(*this); }

bool StoreSession::wants_to_receive() const noexcept {
  return phase_ != Phase::ending && output_.size() < kMaxQueuedAnswers;
}

void StoreSession::receive() {
  std::array<char, kReadBytes> bytes;
  for (int turn = 0; turn < kReadsPerTurn && !is_over() && wants_to_receive(); ++turn) {
    // Before it has authenticated, a client must not make the server buffer more than the handshake needs.
    const std::size_t room = is_authenticated() ? bytes.size() : kResponseBytes;
    const ssize_t got = ::recv(socket_.get(), bytes.data(), room, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0) {
      phase_ = Phase::over;
      return;
    }
    is_silent_ = false;
    input_.append({bytes.data(), static_cast<std::size_t>(got)});
    act();
    if (static_cast<std::size_t>(got) < room) return;
  }
}

void StoreSession::act() {
  if (phase_ == Phase::handshake) {
    const std::optional<std::string_view> response = input_.take(kResponseBytes);
    if (!response) return;
    authenticate(*response);
  }
  std::string_view body;
  while (phase_ == Phase::open) {
    const FrameBuffer::Next next = input_.next(body);
    if (next == FrameBuffer::Next::incomplete) return;
    const std::optional<Request> request =
        next == FrameBuffer::Next::frame ? decode_request(body) : std::optional<Request>();
    if (!request || unanswered_ == kMaxUnanswered) {
      phase_ = Phase::over;
      return;
    }
    serve(*request);
  }
}

void StoreSession::authenticate(std::string_view bytes) {
  const std::optional<Response> response = decode_response(bytes);
  if (!response) {
    phase_ = Phase::over;
    return;
  }
  Verdict verdict = Verdict::welcome;
  std::string reason;
  if (!proves(bytes, shared_.secret, response->client, nonce_)) {
    verdict = Verdict::other_secret;
  } else if (response->hello.rank >= 0) {
    if (std::optional<std::string> objection = shared_.members.join(response->hello)) {
      verdict = Verdict::refused;
      reason = std::move(*objection);
    }
  }
  send_later(make_verdict(verdict, reason, shared_.secret, response->client, nonce_), nullptr, {});
  phase_ = Phase::ending;
  if (verdict == Verdict::welcome) welcome(*response);
}

void StoreSession::welcome(const Response& response) {
  phase_ = Phase::open;
  input_.expect(FrameSeal(shared_.secret, Role::client, response.client, nonce_));
  seal_ = FrameSeal(shared_.secret, Role::server, response.client, nonce_);
  if (response.hello.rank < 0) return;
  rank_ = response.hello.rank;
  generation_ = shared_.members.generation(rank_);
}

void StoreSession::serve(const Request& request) {
  if (request.kind == RequestKind::goodbye) return say_goodbye(request.id);
  if (request.kind == RequestKind::failure) return note_failure(request);
  ++unanswered_;
  const std::string key = key_of_generation(request.key);
  if (request.kind == RequestKind::put) {
    shared_.table.put(*this, request.id, key, request.value, request.reads);
  } else {
    shared_.table.get(*this, request.id, key, request.timeout, request.watch);
  }
}

/// The next program of a rank uses the same keys, and another rank may still read those of the program before.
std::string StoreSession::key_of_generation(std::string_view key) const {
  if (generation_ == 0) return std::string(key);
  return "program " + std::to_string(generation_) + "/" + std::string(key);
}

void StoreSession::note_failure(const Request& request) {
  send_frame(Outcome::ok, request.id, nullptr);
  if (rank_ < 0) return;
  shared_.members.fail(rank_, key_of_generation(request.key), request.value);
  shared_.table.end_waits();
}

void StoreSession::say_goodbye(std::uint64_t id) {
  send_frame(Outcome::ok, id, nullptr);
  phase_ = Phase::ending;
  if (rank_ < 0) return;
  shared_.members.leave(std::exchange(rank_, -1));
  shared_.table.end_waits();
}

bool StoreSession::lose_rank() {
  if (rank_ < 0) return false;
  shared_.members.lose(std::exchange(rank_, -1));
  return true;
}

void StoreSession::answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) {
  --unanswered_;
  send_frame(outcome, id, std::move(value));
}

void StoreSession::tell_lost() {
  const std::vector<int>& lost = shared_.members.lost();
  if (phase_ != Phase::open || lost_told_ == lost.size() || !output_.empty()) return;
  const std::vector<int> news(lost.begin() + static_cast<std::ptrdiff_t>(lost_told_), lost.end());
  lost_told_ = lost.size();
  send_frame(Outcome::lost, kNoticeId, std::make_shared<const std::string>(encode_ranks(news)));
}

void StoreSession::tell_closing() {
  if (phase_ != Phase::open) return;
  const std::optional<std::string> failure = shared_.members.first_failure();
  send_frame(Outcome::closing, kNoticeId, failure ? std::make_shared<const std::string>(*failure) : nullptr);
}

void StoreSession::send_frame(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) {
  const std::string_view bytes = value ? std::string_view(*value) : std::string_view();
  std::string head = encode_head(outcome, id, bytes.size());
  std::string seal = seal_.make(head, bytes);
  send_later(std::move(head), std::move(value), std::move(seal));
}

void StoreSession::send_later(std::string head, std::shared_ptr<const std::string> value, std::string seal) {
  output_.push_back({std::move(head), std::move(value), std::move(seal)});
  answered_(*this);
}

void StoreSession::flush() {
  tell_lost();
  while (!is_over() && !output_.empty()) {
    const Chunk& chunk = output_.front();
    // The parts of the chunk that were not sent yet.
    std::array<iovec, 3> parts{};
    std::size_t skip = sent_;
    std::size_t left = 0;
    std::size_t count = 0;
    for (const std::string_view part :
         {std::string_view(chunk.head), chunk.value ? std::string_view(*chunk.value) : std::string_view(),
          std::string_view(chunk.seal)}) {
      const std::string_view rest = part.substr(std::min(skip, part.size()));
      skip -= part.size() - rest.size();
      left += rest.size();
      if (!rest.empty()) parts[count++] = {const_cast<char*>(rest.data()), rest.size()};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      phase_ = Phase::over;
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
    if (static_cast<std::size_t>(sent) < left) continue;
    output_.pop_front();
    sent_ = 0;
    tell_lost();
  }
  if (phase_ == Phase::ending) phase_ = Phase::over;
}

}  // namespace tutti
