#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/ccl_bridge.hpp"
#include "channel/ccl_c_api.hpp"

/// Finds and opens libccl.so.1 and the bridge to it, or libccl.so.2 for the C interface. Nothing here starts oneCCL.
namespace tutti::ccl {

/// The value of an environment variable that is not one of tutti's, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

/// The interfaces of oneCCL.
enum class ApiKind : std::uint8_t { cpp, c };

/// An opened library, or the reason why none could be opened.
struct Library {
  ApiKind api = ApiKind::cpp;
  const Bridge* bridge = nullptr;          ///< of the C++ interface
  std::shared_ptr<const CApi> c_api = {};  ///< of the C interface
  BridgeVersion number = {};
  std::string version = {};             ///< "oneCCL 2022.1.0, C++"
  std::string file = {};                ///< path of libccl.so.1 or libccl.so.2
  std::string directory = {};           ///< folder of that file; empty if unknown
  std::string failure = {};             ///< a whole sentence
  const QueueBridge* queues = nullptr;  ///< null: see `queue_failure`
  std::string queue_failure = {};       ///< reason why oneCCL is not used on device memory

  [[nodiscard]] bool is_usable() const noexcept { return bridge != nullptr || c_api != nullptr; }
};

/// Places to search.
struct LibraryPlaces {
  std::string root;               ///< value of TUTTI_ONECCL_ROOT; may be empty
  bool root_is_chosen;            ///< whether the user set it: then no other place is tried
  std::string bridge;             ///< file of the bridge
  std::string queue_bridge = {};  ///< file of the bridge for SYCL queues; may not exist
  ApiKind api = ApiKind::cpp;     ///< interface that is wanted
};

/// The files to try, in order: only the one below `root` if the user chose it; else those below CCL_ROOT and below
/// `root`, then the name for the search path.
[[nodiscard]] std::vector<std::string> library_candidates(const LibraryPlaces& places,
                                                          const EnvironmentLookup& environment);

/// Opens the library: the one already loaded in the process, else the first candidate that can be opened; then the
/// bridge, or the plug-in that the C interface needs. The library is never closed. Throws nothing but std::bad_alloc.
[[nodiscard]] Library open_library(const LibraryPlaces& places, const EnvironmentLookup& environment);

/// The names in the DT_NEEDED entries of a shared object; none if the file is no shared object for this machine.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& file);

}  // namespace tutti::ccl
