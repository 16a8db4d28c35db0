#pragma once

#include <level_zero/ze_api.h>

#include <mutex>
#include <unordered_map>
#include <vector>

#include "loader.hpp"

namespace tutti::profiling::ze {

/// Events with timestamps that the source lends to commands of the program that have no event. Thread-safe.
class OwnEvents {
 public:
  explicit OwnEvents(const Loader& loader) noexcept : loader_(loader) {}

  /// An event that is not signalled, for commands of this context; null if there is none. `may_grow`: makes new ones if
  /// all are lent.
  [[nodiscard]] ze_event_handle_t take(ze_context_handle_t context, bool may_grow) noexcept;
  /// Takes an event back whose commands have ended.
  void give_back(ze_event_handle_t event) noexcept;
  /// Makes an event ready for the next execution of its command, which has ended.
  void reset(ze_event_handle_t event) noexcept;
  /// Destroys the events of a context, whose commands have ended.
  void forget(ze_context_handle_t context) noexcept;

 private:
  static constexpr std::uint32_t kPoolEvents = 256;
  static constexpr std::size_t kMostPools = 64;  ///< per context
  struct Context {
    std::vector<ze_event_pool_handle_t> pools;
    std::vector<ze_event_handle_t> all, free;
  };
  void add_pool(ze_context_handle_t handle, Context& context);

  const Loader& loader_;
  std::mutex mutex_;
  std::unordered_map<ze_context_handle_t, Context> contexts_;
  std::unordered_map<ze_event_handle_t, ze_context_handle_t> owners_;
};

}  // namespace tutti::profiling::ze
