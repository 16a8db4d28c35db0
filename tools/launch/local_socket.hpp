#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "launch/event_loop.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// A TCP port of the loopback address that was free a moment ago; 0 if there is none.
[[nodiscard]] std::uint16_t free_loopback_port() noexcept;

/// Receives lines of text from the processes of a job over a Linux abstract socket: no file can be left behind, and the
/// kernel confirms that a peer belongs to the same user.
class LineServer {
 public:
  /// Called with each line. `peer` identifies the connection.
  using Handler = std::function<void(int peer, std::string_view line)>;

  /// Listens under a random name. Calls `closed` when a peer has disconnected. Throws Error{system}.
  LineServer(EventLoop& loop, Handler handler, std::function<void(int peer)> closed);
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Sends copies of two descriptors to the peer.
  void send_descriptors(int peer, std::array<int, 2> descriptors);
  /// Handles the lines that have arrived, without waiting.
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

/// The client of a LineServer.
class LineClient {
 public:
  /// Connects to the server `name`. Throws Error{system}.
  explicit LineClient(const std::string& name);
  /// Sends a line; the newline is added. False when the server is gone.
  bool send(const std::string& line);
  /// Waits for the descriptors that send_descriptors() sends. Throws Error{system} when the server is gone.
  [[nodiscard]] std::array<spi::FileDescriptor, 2> receive_descriptors();

 private:
  spi::FileDescriptor descriptor_;
};

}  // namespace tutti::tools
