#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "store/store_protocol.hpp"
#include "store/store_table.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti {

/// Server side of one connection: handshake, requests, and answers that are queued until the client takes them. Never
/// blocks. An error of a client ends its session, never the server.
class StoreSession final : public StoreTable::Client {
 public:
  /// Calls `answered` when there is new data to flush().
  StoreSession(spi::FileDescriptor socket, std::string_view secret, StoreTable& table,
               std::function<void(StoreSession&)> answered);
  ~StoreSession();
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  /// Reads and handles received data, up to a limit so that one client does not keep others waiting.
  void receive();
  /// Sends as much as the client takes.
  void flush();
  void answer(Outcome outcome, std::uint64_t id, std::shared_ptr<const std::string> value) override;

  [[nodiscard]] int socket() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_authenticated() const noexcept { return phase_ == Phase::open; }
  /// Time by which the client must have authenticated.
  [[nodiscard]] Deadline handshake_deadline() const noexcept { return handshake_deadline_; }
  [[nodiscard]] bool is_over() const noexcept { return phase_ == Phase::over; }
  [[nodiscard]] bool wants_to_send() const noexcept { return !output_.empty(); }
  /// False while too many answers are queued: the client must take them first.
  [[nodiscard]] bool wants_to_receive() const noexcept;

  /// Events last registered with the server's epoll; kept here so that only changes are registered.
  std::uint32_t polled_events = 0;

 private:
  enum class Phase : std::uint8_t { handshake, open, refused, over };

  void act();
  void authenticate(std::string_view response);
  void serve(const Request& request);
  void send_later(std::string head, std::shared_ptr<const std::string> value);

  struct Chunk {
    std::string head;
    std::shared_ptr<const std::string> value;  ///< shared with the table: an answer costs no copy
  };

  spi::FileDescriptor socket_;
  std::string_view secret_;
  StoreTable& table_;
  std::function<void(StoreSession&)> answered_;
  Phase phase_ = Phase::handshake;
  Nonce nonce_ = make_nonce();
  Deadline handshake_deadline_;
  FrameBuffer input_;
  std::deque<Chunk> output_;
  std::size_t sent_ = 0;  ///< bytes of the first chunk that were sent
  std::size_t unanswered_ = 0;
};

}  // namespace tutti
