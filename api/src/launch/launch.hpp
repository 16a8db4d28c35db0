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
  std::string source;                   ///< for messages: "tutti run", "RANK and MASTER_ADDR" or "srun"
  std::shared_ptr<StoreServer> server;  ///< on the rank that hosts the store, else null
  std::shared_ptr<Store> store;
};

/// Reads the job from the environment; std::nullopt if the environment describes none. There are three forms:
/// - TUTTI_STORE with RANK and WORLD_SIZE, as set by `tutti run`: connects to the launcher's store.
/// - RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: rank 0 hosts the store there. Without a secret this works on one
///   host only, through a socket that the kernel restricts to this user. WORLD_SIZE=1 and RANK=0 suffice for one rank.
/// - the variables of a Slurm step (`srun`): as the second form. The first host of the step, and a port derived from
/// the
///   job and the step, stand for MASTER_ADDR and MASTER_PORT where these are not set.
///
/// LOCAL_RANK and LOCAL_WORLD_SIZE are optional. Waits for the store up to TUTTI_RENDEZVOUS_TIMEOUT. Throws
/// Error{config} naming the variable, its value and the accepted values; also if a launcher started several tasks, but
/// passes nothing by which they could meet: `refusals` then says why no backend can use it. Throws the errors of
/// StoreServer and connect_store().
[[nodiscard]] TUTTI_API std::optional<Launch> launch_from_environment(const Config& config,
                                                                      const std::string& refusals = {});

}  // namespace tutti
