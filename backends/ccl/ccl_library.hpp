#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/ccl_bridge.hpp"
#include "channel/ccl_c_api.hpp"

/// Finding and opening libccl.so.1 and the bridge to it, or libccl.so.2 for the C interface. Nothing here starts
/// oneCCL.
namespace tutti::ccl {

/// The value of a variable that belongs to others, or nothing.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string&)>;

/// The interfaces of oneCCL.
enum class ApiKind : std::uint8_t { cpp, c };

/// A library that was opened, or the reason why there is none.
struct Library {
  ApiKind api = ApiKind::cpp;
  const Bridge* bridge = nullptr;          ///< of the C++ interface
  std::shared_ptr<const CApi> c_api = {};  ///< of the C interface
  BridgeVersion number = {};
  std::string version = {};             ///< "oneCCL 2022.1.0, C++"
  std::string file = {};                ///< of libccl.so.1 or libccl.so.2
  std::string directory = {};           ///< of that; empty when not known
  std::string failure = {};             ///< a whole sentence
  const QueueBridge* queues = nullptr;  ///< null: see `queue_failure`
  std::string queue_failure = {};       ///< why device memory is not served

  [[nodiscard]] bool is_usable() const noexcept { return bridge != nullptr || c_api != nullptr; }
};

/// Where to look.
struct LibraryPlaces {
  std::string root;               ///< of TUTTI_ONECCL_ROOT; may be empty
  bool root_is_chosen;            ///< by the user: then nothing else is tried
  std::string bridge;             ///< file of the bridge
  std::string queue_bridge = {};  ///< file of the one for SYCL queues; may not exist
  ApiKind api = ApiKind::cpp;     ///< the interface that is wanted
};

/// The files to try in order: below the root that the user chose, or below CCL_ROOT, below `root`, and in the search
/// path.
[[nodiscard]] std::vector<std::string> library_candidates(const LibraryPlaces& places,
                                                          const EnvironmentLookup& environment);

/// Opens the library: the one that is in the process already, else the first candidate that can be opened; then the
/// bridge, or the plug-in that the C interface works with. Never closed again. Throws nothing but std::bad_alloc.
[[nodiscard]] Library open_library(const LibraryPlaces& places, const EnvironmentLookup& environment);

/// The names in a shared object's DT_NEEDED entries; none if it is no such file of this machine.
[[nodiscard]] std::vector<std::string> needed_libraries(const std::string& file);

}  // namespace tutti::ccl
