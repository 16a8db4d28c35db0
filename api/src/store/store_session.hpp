#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "store/home_descriptor.hpp"
#include "store/store_members.hpp"
#include "store/store_table.hpp"
#include "store/wire/store_handshake.hpp"
#include "store/wire/store_protocol.hpp"

namespace tutti {

/// State that the sessions of a server share.
struct StoreShared {
  std::string secret;
  StoreMembers members;
  StoreTable table{members};
};

/// Server side of one connection: handshake, requests, and answers that are queued until the client takes them. Never
/// blocks. An error of a client ends its session, never the server.
class StoreSession final : public StoreTable::Client {
 public:
  /// Calls `answered` when there is new data to flush(). `nonce` must be new.
  StoreSession(HomeDescriptor socket, StoreShared& shared, std::function<void(StoreSession&)> answered,
               const Nonce& nonce = make_nonce());
  ~StoreSession();
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  /// Reads and handles received data, up to a limit so that one client does not keep others waiting.
  void receive();
  /// Sends as much as the client takes.
  void flush();
  void answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) override;
  [[nodiscard]] std::uint32_t generation() const noexcept override { return generation_; }

  /// Tells the client of ranks that were lost, once it has taken its other answers: it may not read for a long time,
  /// and a notice that waits must not grow into many.
  void tell_lost();
  /// Tells the client that the server ends, and which rank failed first.
  void tell_closing();
  /// To be called when the session is over: returns whether its rank is now lost, because it did not say goodbye.
  [[nodiscard]] bool lose_rank();

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_authenticated() const noexcept { return phase_ == Phase::open; }
  /// Whether the client has not sent anything yet.
  [[nodiscard]] bool is_silent() const noexcept { return is_silent_; }
  /// Time by which the client must have authenticated.
  [[nodiscard]] Deadline handshake_deadline() const noexcept { return handshake_deadline_; }
  [[nodiscard]] bool is_over() const noexcept { return phase_ == Phase::over; }
  [[nodiscard]] bool wants_to_send() const noexcept { return !output_.empty(); }
  /// False while too many answers are queued: the client must take them first.
  [[nodiscard]] bool wants_to_receive() const noexcept;

  /// Events last registered with the server's epoll; kept here so that only changes are registered.
  std::uint32_t polled_events = 0;

 private:
  enum class Phase : std::uint8_t {
    handshake,
    open,
    ending,  ///< over once the client has taken the queued answers
    over
  };

  void act();
  void authenticate(std::string_view response);
  void welcome(const Response& response);
  void serve(const Request& request);
  [[nodiscard]] std::string key_of_generation(std::string_view key) const;
  void note_failure(const Request& request);
  void say_goodbye(std::uint64_t id);
  void send_frame(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value);
  void send_later(std::string head, std::shared_ptr<const std::string> value, std::string seal);

  struct Chunk {
    std::string head;
    std::shared_ptr<const std::string> value;  ///< shared with the table: an answer costs no copy
    std::string seal;
  };

  HomeDescriptor socket_;
  StoreShared& shared_;
  std::function<void(StoreSession&)> answered_;
  Phase phase_ = Phase::handshake;
  Nonce nonce_;
  Deadline handshake_deadline_;
  bool is_silent_ = true;
  std::int32_t rank_ = -1;  ///< the rank that the client is now; -1: none
  std::uint32_t generation_ = 0;
  std::size_t lost_told_ = 0;  ///< lost ranks that the client was told of
  FrameSeal seal_;             ///< of the frames to the client
  FrameBuffer input_;
  std::deque<Chunk> output_;
  std::size_t sent_ = 0;  ///< bytes of the first chunk that were sent
  std::size_t unanswered_ = 0;
};

}  // namespace tutti
