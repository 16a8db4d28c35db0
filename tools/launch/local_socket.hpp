#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "launch/event_loop.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Lines of text from the processes of a job to the command that started it, over a Linux abstract socket: there is no
/// file that could be left behind, and the kernel tells that a peer is of the same user.
class LineServer {
 public:
  /// One peer. `peer` stays the same for all lines of a connection.
  using Handler = std::function<void(int peer, std::string_view line)>;

  /// Listens under a random name. A peer that is gone is reported as a call of `closed`.
  LineServer(EventLoop& loop, Handler handler, std::function<void(int peer)> closed);
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Hands copies of two descriptors to the peer.
  void send_descriptors(int peer, std::array<int, 2> descriptors);
  /// Handles what has arrived without waiting.
  void drain();

 private:
  struct Connection {
    spi::FileDescriptor descriptor;
    std::string pending;
  };
  void accept_peers();
  void read_from(int peer);

  EventLoop& loop_;
  Handler handler_;
  std::function<void(int)> closed_;
  std::string name_;
  spi::FileDescriptor listener_;
  std::map<int, Connection> connections_;  // by descriptor number
};

/// The other end.
class LineClient {
 public:
  /// Throws Error{system}.
  explicit LineClient(const std::string& name);
  /// Sends a line; the newline is added. False when the server is gone.
  bool send(const std::string& line);
  /// What send_descriptors() hands over. Throws Error{system}.
  [[nodiscard]] std::array<spi::FileDescriptor, 2> receive_descriptors();

 private:
  spi::FileDescriptor descriptor_;
};

}  // namespace tutti::tools
