#pragma once

#include <memory>
#include <string>

#include "ccl_creation_lock.hpp"
#include "ccl_environment.hpp"
#include "ccl_library.hpp"
#include "channel/ccl_interface.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::ccl {

/// oneCCL in this process: one library, started once, never ended by us. All is thread-safe.
class Runtime {
 public:
  /// Which interface TUTTI_CCL_API names.
  [[nodiscard]] static ApiKind api(const Config& config);
  /// The library for the interface that TUTTI_CCL_API names, opened at the first call; the other settings of that call
  /// count. oneCCL is not started. One that has a failure when the process uses the other interface already.
  [[nodiscard]] static const Library& library(const Config& config);

  /// oneCCL running. The first call sets the variables and starts it; `peers` then tells which rank of this host this
  /// process is. Throws Error{backend_unavailable} when there is no library, Error{backend_failure} with oneCCL's
  /// words.
  [[nodiscard]] static Runtime& started(const Config& config, const spi::Peers& peers);

  [[nodiscard]] const Interface& interface() const noexcept { return *interface_; }
  /// In which order communicators are made: numbered in the store of the first that has several ranks, which is nearly
  /// always that of all ranks of the job.
  [[nodiscard]] CreationLock& creation_lock(const Rendezvous& rendezvous);

 private:
  Runtime(const Library& library, const spi::Peers& peers);

  ApiKind api_;
  std::unique_ptr<Interface> interface_;
  std::unique_ptr<CreationLock> creation_lock_;
  std::unique_ptr<CreationLock> creation_alone_;
};

}  // namespace tutti::ccl
