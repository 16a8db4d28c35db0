#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "rank_link.hpp"
#include "workload.hpp"

namespace tutti::bench {

/// One rank of a library under measurement.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Name and version as the library gives them, one line.
  [[nodiscard]] virtual std::string version() const = 0;

  enum class Role : std::uint8_t { input, output };
  /// Memory for a buffer; ordinary memory unless overridden.
  [[nodiscard]] virtual void* allocate(Role role, std::size_t bytes);
  virtual void release(Role role, void* memory);

  /// The library's own; before every timed call.
  virtual void barrier() = 0;
  /// The operation itself, blocking. Throws what the library throws.
  virtual void run(const Workload& workload, const void* input, void* output) = 0;
};

/// Does what the controller says until it says "quit" or is gone. Returns the exit code of the rank.
///
/// Commands:  measure OP TYPE BYTES WARMUPS CALLS CHECK RELEASE | release | quit
/// Answers:   ready RANK SIZE VERSION                   once, at first
///            times TOTAL T1 T2 ...                     nanoseconds: of all calls with their barriers, and of each call
///            wrong MESSAGE | failed MESSAGE | released
int serve(RankLink& link, Peer& peer);

/// A driver with ranks that are processes: the name of the socket is the first argument. `make` is given the link and
/// returns the peer.
template <typename Make>
int drive(const char* socket, Make make) {
  try {
    RankLink link{std::string(socket)};
    try {
      const auto peer = make(link);
      return serve(link, *peer);
    } catch (const std::exception& error) {
      link.send(std::string("failed ") + error.what());
    }
  } catch (const LinkError&) {
    // Nobody is left to be told.
  }
  return 1;
}

}  // namespace tutti::bench
