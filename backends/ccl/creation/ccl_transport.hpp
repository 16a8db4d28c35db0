#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ccl_library.hpp"
#include "tutti/rendezvous.hpp"

/// Agreement of the ranks on oneCCL's transport. oneCCL takes one transport per process when it starts, and ranks with
/// different ones would wait for each other for ever.
namespace tutti::ccl {

enum class Transport : std::uint8_t { ofi, mpi };

/// Transports that a process can use, as it tells the other ranks.
struct TransportOffer {
  bool is_decided = false;  ///< oneCCL has started with `transport`, or the user set it
  Transport transport = Transport::ofi;
  std::string job = {};  ///< name of the MPI job, for an undecided `mpi`
  int rank = 0;          ///< in that job
  int size = 0;
  bool is_confined = false;  ///< oneCCL has started, and its key-value store serves this host only

  [[nodiscard]] std::string text() const;
  /// The offer with that text; an unreadable one is an undecided `ofi`.
  [[nodiscard]] static TransportOffer of(const std::string& text);
};

/// The offer of a process in which oneCCL has not started. `mpi_library`: file of the Intel MPI to send through, empty
/// if there is none.
[[nodiscard]] TransportOffer offer_of_process(const std::string& mpi_library, const EnvironmentLookup& environment);

/// The transport of a group; the same on all ranks. MPI only if the ranks are all those of one MPI job, because MPI
/// starts on all of them or on none, or if it has started on all. Throws Error{invalid_usage} that names the ranks if
/// they have decided differently, or the rank whose key-value store the others cannot reach from their hosts.
[[nodiscard]] Transport choose_transport(std::span<const TransportOffer> offers, bool same_host);

/// Exchanges the offers of a group and chooses; collective. `same_host`: all ranks of the group are on one host.
[[nodiscard]] Transport agree_on_transport(const Rendezvous& rendezvous, const TransportOffer& mine, bool same_host);

}  // namespace tutti::ccl
