#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/deadline.hpp"
#include "store/home_descriptor.hpp"
#include "store/wire/store_handshake.hpp"
#include "store/wire/store_protocol.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// A connection that has passed the handshake.
struct OpenConnection {
  HomeDescriptor socket;
  std::string address;
  int rank = -1;         ///< that this client is; -1: none
  int server_rank = -1;  ///< whose process serves the store; -1: none
  FrameSeal sent;        ///< of the frames to the server
  FrameSeal received;    ///< of the frames from the server
};

/// A store over one connection that any number of threads share. It has no thread of its own: one of the waiting
/// threads reads the answers for all, and another one takes over when the first has its own answer.
class SocketStore final : public Store {
 public:
  explicit SocketStore(OpenConnection connection);
  /// Leaves the job, see do_leave().
  ~SocketStore() override;

 private:
  struct Reply {
    bool arrived = false;
    Outcome outcome = Outcome::ok;
    std::string value;
  };
  enum class State : std::uint8_t {
    open,
    left,    ///< this client has said goodbye
    closed,  ///< the server has said that it ends
    broken,  ///< the connection ended without a word
    forged,  ///< the connection carried bytes that are not the server's
  };

  void do_put(std::string_view key, std::string_view value, std::uint32_t reads) override;
  std::string do_get(std::string_view key, std::chrono::nanoseconds timeout) override;
  std::string do_get_from(std::string_view key, std::chrono::nanoseconds timeout, const WaitedRanks& ranks) override;
  std::vector<int> do_lost() override;
  void do_leave() noexcept override;
  void do_fail(int rank, std::string_view scope, std::string_view reason) noexcept override;

  std::string get(Request request);
  Reply ask(Request request, Deadline deadline);
  void send(const Request& request, Deadline deadline);
  void await(std::unique_lock<std::mutex>& lock, const Reply& reply, Deadline deadline);
  // Require the lock of mutex_.
  bool read();
  bool take(const Answer& answer);
  void end(State state) noexcept;

  void check_home() const;
  [[noreturn]] void throw_ended(State state) const;
  [[noreturn]] void throw_silent() const;

  const HomeDescriptor socket_;
  const std::string address_;
  const int rank_;
  const int server_rank_;
  std::mutex sending_;  ///< never taken while mutex_ is held
  FrameSeal seal_;      ///< protected by sending_
  std::mutex mutex_;    ///< protects all members below
  std::condition_variable changed_;
  std::map<std::uint64_t, Reply*> pending_;
  std::uint64_t next_id_ = 0;
  bool reading_ = false;
  State state_ = State::open;
  std::string first_failure_;  ///< as the server said when it ended; empty: none
  std::vector<int> lost_;
  FrameBuffer input_;
};

/// Shakes hands over a connected socket and returns the store; null, with the reason in `failure`, if the server closes
/// the connection or does not answer. Throws Error{invalid_argument} if the server is none of this protocol, has
/// another secret or refuses the client. `nonce` must be new.
[[nodiscard]] std::shared_ptr<Store> open_store(spi::FileDescriptor socket, const std::string& address,
                                                std::string_view secret, const JobMember& member, Deadline deadline,
                                                std::string& failure, const Nonce& nonce = make_nonce());

}  // namespace tutti
