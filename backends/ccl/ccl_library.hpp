#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ccl_bridge.hpp"

/// Finding and opening libccl.so.1 and the bridge to it. Nothing here starts oneCCL.
namespace tutti::ccl {

/// The value of a variable that belongs to others, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

/// A library that was opened, or the reason why there is none.
struct Library {
  const Bridge* bridge = nullptr;  ///< null: see `failure`
  BridgeVersion number = {};
  std::string version;                  ///< "oneCCL 2022.1.0"
  std::string file;                     ///< of libccl.so.1
  std::string directory;                ///< of that; empty when not known
  std::string failure;                  ///< a whole sentence
  const QueueBridge* queues = nullptr;  ///< null: see `queue_failure`
  std::string queue_failure;            ///< why device memory is not served
};

/// Where to look.
struct LibraryPlaces {
  std::string root;               ///< of TUTTI_ONECCL_ROOT; may be empty
  bool root_is_chosen;            ///< by the user: then nothing else is tried
  std::string bridge;             ///< file of the bridge
  std::string queue_bridge = {};  ///< file of the one for SYCL queues; may not exist
};

/// The files to try in order: below the root that the user chose, or below CCL_ROOT, below `root`, and in the search
/// path.
[[nodiscard]] std::vector<std::string> library_candidates(const LibraryPlaces& places,
                                                          const EnvironmentLookup& environment);

/// Opens the library: the one that is in the process already, else the first candidate that can be opened; then the
/// bridge. Never closed again. Throws nothing but std::bad_alloc.
[[nodiscard]] Library open_library(const LibraryPlaces& places, const EnvironmentLookup& environment);

/// The names in a shared object's DT_NEEDED entries; none if it is no such file of this machine.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& file);

}  // namespace tutti::ccl
