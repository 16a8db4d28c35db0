#pragma once

#include <optional>
#include <vector>

#include "tutti/rendezvous.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::common {

/// Notices when the process of another rank on this host has ended. Libraries that communicate over device memory do
/// not notice it and would wait for ever. Only observes; thread-safe.
class PeerWatch {
 public:
  /// Collective over the members.
  PeerWatch(const Rendezvous& rendezvous, const spi::Peers& peers);
  ~PeerWatch();
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// A rank whose process has ended, or nothing. Alone this is no error: the rank may have finished its part.
  [[nodiscard]] std::optional<int> find_gone() const noexcept;

 private:
  struct Watched {
    int rank;
    int descriptor;  ///< of the process
  };
  std::vector<Watched> watched_;
};

}  // namespace tutti::common
