#include "store/store_session.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

namespace tutti {
namespace {

constexpr std::chrono::seconds kHandshakeTime{5};
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr int kReadsPerTurn = 4;
constexpr std::size_t kMaxQueuedAnswers = 1024;
constexpr std::size_t kMaxUnanswered = 4096;

}  // namespace

StoreSession::StoreSession(spi::FileDescriptor socket, std::string_view secret, StoreTable& table,
                           std::function<void(StoreSession&)> answered)
    : socket_(std::move(socket)),
      secret_(secret),
      table_(table),
      answered_(std::move(answered)),
      handshake_deadline_(deadline_after(kHandshakeTime)) {
  send_later(make_greeting(nonce_), nullptr);
}

StoreSession::~StoreSession() { table_.forget(*this); }

bool StoreSession::wants_to_receive() const noexcept {
  return phase_ != Phase::refused && output_.size() < kMaxQueuedAnswers;
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

void StoreSession::authenticate(std::string_view response) {
  const std::optional<Nonce> client = decode_response(response);
  if (!client) {
    phase_ = Phase::over;
    return;
  }
  const bool welcome = proves(response, secret_, *client, nonce_);
  send_later(make_verdict(welcome, secret_, *client, nonce_), nullptr);
  phase_ = welcome ? Phase::open : Phase::refused;
}

void StoreSession::serve(const Request& request) {
  ++unanswered_;
  if (request.kind == RequestKind::put) {
    table_.put(*this, request.id, request.key, request.value, request.reads);
  } else {
    table_.get(*this, request.id, request.key, request.timeout);
  }
}

void StoreSession::answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) {
  --unanswered_;
  const std::size_t size = value ? value->size() : 0;
  send_later(encode_head(outcome, id, size), size == 0 ? nullptr : std::move(value));
}

void StoreSession::send_later(std::string head, std::shared_ptr<const std::string> value) {
  output_.push_back({std::move(head), std::move(value)});
  answered_(*this);
}

void StoreSession::flush() {
  while (!is_over() && !output_.empty()) {
    const Chunk& chunk = output_.front();
    const std::string_view value = chunk.value ? std::string_view(*chunk.value) : std::string_view();
    const std::size_t head_left = chunk.head.size() - std::min(sent_, chunk.head.size());
    const std::size_t value_sent = sent_ - std::min(sent_, chunk.head.size());
    std::array<iovec, 2> parts = {{{const_cast<char*>(chunk.head.data()) + chunk.head.size() - head_left, head_left},
                                   {const_cast<char*>(value.data()) + value_sent, value.size() - value_sent}}};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent < 0) {
      phase_ = Phase::over;
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
    if (sent_ < chunk.head.size() + value.size()) continue;
    output_.pop_front();
    sent_ = 0;
  }
  if (phase_ == Phase::refused) phase_ = Phase::over;
}

}  // namespace tutti
