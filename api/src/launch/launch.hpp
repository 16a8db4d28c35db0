#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tutti/config.hpp"
#include "tutti/export.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// What a launcher told this process through its environment: which rank it is, and where the ranks meet.
struct Launch {
  int rank = 0;
  int size = 1;
  int local_rank = -1;                  ///< -1: not told
  int local_size = -1;                  ///< -1: not told
  std::string source;                   ///< for people: "tutti run" or "RANK and MASTER_ADDR"
  std::shared_ptr<StoreServer> server;  ///< on the rank that hosts the store, else null
  std::shared_ptr<Store> store;
};

/// Nothing when the environment does not speak of a job. Otherwise one of
/// (a) TUTTI_STORE with RANK and WORLD_SIZE, as `tutti run` sets them: connects to the launcher's store;
/// (b) RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT: rank 0 hosts the store there. Without a secret that is possible
/// on
///     one host only, through a socket that the kernel opens to this user alone.
/// LOCAL_RANK and LOCAL_WORLD_SIZE may be given with either. Waits for the store up to TUTTI_RENDEZVOUS_TIMEOUT.
/// Throws Error{config} naming variable, value and what is accepted, and whatever StoreServer and connect_store()
/// throw.
[[nodiscard]] TUTTI_API std::optional<Launch> launch_from_environment(const Config& config);

}  // namespace tutti
