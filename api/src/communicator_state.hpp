#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "selection.hpp"
#include "tutti/communicator.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

namespace detail {

/// What the copies of a Communicator share.
struct CommunicatorState {
  CommunicatorState(const Rendezvous& meeting, const CommunicatorOptions& options);

  /// Set where this rank serves the store of an adopted communicator; outlives the rendezvous.
  std::shared_ptr<StoreServer> store_server;

  int rank;
  int size;
  std::uint64_t id;  ///< of the communicator in this process, for observers
  std::string name;
  Config config;
  Rendezvous rendezvous;
  spi::Peers peers;
  Selection selection;
  std::unique_ptr<spi::BackendCommunicator> backend;

  std::chrono::nanoseconds timeout{};  ///< of operations that bring none; zero: the backend's own
  bool strict = false;

  /// Why a call is more than validating and handing over; zero for most communicators, most of the time. Atomic because
  /// abort() comes from any thread; nothing is published by it.
  enum Special : std::uint32_t { kAborted = 1, kGrouping = 2, kCheck = 4 };
  std::atomic<std::uint32_t> special = 0;
  [[nodiscard]] bool is(Special what) const noexcept { return (special.load(std::memory_order_relaxed) & what) != 0; }
  void set(Special what) noexcept { special.fetch_or(what, std::memory_order_relaxed); }
  void clear(Special what) noexcept { special.fetch_and(~std::uint32_t{what}, std::memory_order_relaxed); }

  // Written by the calls, which the caller orders.
  std::uint64_t sequence = 0;        ///< collectives so far
  std::uint64_t children = 0;        ///< splits so far
  std::vector<Operation> collected;  ///< by group()
};

}  // namespace detail

}  // namespace tutti
