#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "rank_link.hpp"
#include "workload.hpp"

namespace tutti::bench {

/// A rank of a measured library.
class Peer {
 public:
  Peer() = default;
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  virtual ~Peer() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Name and version that the library reports, in one line.
  [[nodiscard]] virtual std::string version() const = 0;

  enum class Role : std::uint8_t { input, output };
  /// Memory for a buffer: that of malloc() unless overridden.
  [[nodiscard]] virtual void* allocate(Role role, std::size_t bytes);
  virtual void release(Role role, void* memory);
  /// Memory for the buffer of a single call: pages that no call has used, unless overridden.
  [[nodiscard]] virtual void* allocate_fresh(Role role, std::size_t bytes);
  virtual void release_fresh(Role role, void* memory, std::size_t bytes);

  /// Barrier of the library; runs before every timed call.
  virtual void barrier() = 0;
  /// The operation itself, blocking. Throws the exceptions of the library.
  virtual void run(const Workload& workload, const void* input, void* output) = 0;
};

/// Runs the commands of the controller until "quit" or the end of the connection. Returns the exit code of the rank.
///
/// Commands:  measure OP TYPE BYTES WARMUPS CALLS CHECK RELEASE FRESH | release | quit
/// Answers:   ready RANK SIZE VERSION                   once, at the start
///            times TOTAL T1 T2 ...                     nanoseconds: all calls with their barriers, then each call
///            wrong MESSAGE | failed MESSAGE | released
int serve(RankLink& link, Peer& peer);

/// Main function of a driver's rank: connects to the controller's socket and serves it. `make` gets the link and
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
    // The controller is gone, so the error cannot be sent.
  }
  return 1;
}

}  // namespace tutti::bench
