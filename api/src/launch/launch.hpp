#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// The job that this process belongs to: its rank, the number of ranks and the store.
struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = -1;                  ///< -1: unknown
  int local_size = -1;                  ///< -1: unknown
  std::string source;                   ///< for messages: "tutti run" or "RANK and MASTER_ADDR"
  std::shared_ptr<StoreServer> server;  ///< on the rank that hosts the store, else null
  std::shared_ptr<Store> store;
};

/// Reads the job from the environment; std::nullopt if the environment describes none. There are two forms:
/// - TUTTI_STORE with RANK and WORLD_SIZE, as set by `tutti run`: connects to the launcher's store.
/// - RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: rank 0 hosts the store there. Without a secret this works on one
///   host only, through a socket that the kernel restricts to this user.
///
/// LOCAL_RANK and LOCAL_WORLD_SIZE are optional. Waits for the store up to TUTTI_RENDEZVOUS_TIMEOUT. Throws
/// Error{config} naming the variable, its value and the accepted values, and the errors of StoreServer and
/// connect_store().
[[nodiscard]] TUTTI_API std::optional<Launch> launch_from_environment(const Config& config);

}  // namespace tutti
