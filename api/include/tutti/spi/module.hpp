#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/call_progress.hpp"
#include "tutti/spi/launcher.hpp"

namespace tutti::spi {

/// Version of the module interface; changes whenever anything that a module sees changes. A module with another version
/// is not used.
inline constexpr std::uint32_t kModuleAbi = 12;

/// Hosts and processes of the ranks of a group; exchanged before a backend is chosen.
struct Peers {
  int rank = 0;
  int size = 1;
  std::vector<std::string> hosts;  ///< by rank; ranks with equal strings can share memory
  std::vector<std::int64_t> pids;  ///< by rank; 0: a process in another pid namespace with the same pid as this process
  std::vector<int> numa_nodes = {};  ///< by rank: the node of its CPUs; -1: several or unknown
  bool same_host = true;             ///< all ranks are on one host
  bool same_process = true;          ///< all ranks are threads of this process (true for one rank)
};

/// Result of probing a backend on this machine, in this launch and for this group. A probe prints nothing and never
/// crashes; if it throws, the message becomes the reason.
struct Probe {
  bool usable = false;
  std::string reason = {};   ///< one sentence: why it is not usable, or what was found
  std::string version = {};  ///< of the library underneath
  std::string product = {};  ///< one of BackendModule::products, where the module has some
  int preference = 0;        ///< `auto` chooses the usable backend with the highest value
  Capabilities capabilities = {};
};

struct ProbeContext {
  const Config& config;
  const Peers* peers = nullptr;  ///< null: no group is known (`tutti info`)
  bool named = false;            ///< the user asked for this backend; false: the core looks for the best one
  std::string_view rest = {};  ///< the spec after the module's name: a product, the spec of an inner backend, or empty
};

/// A communicator object of another library, passed by the application.
struct ForeignHandle {
  std::string_view backend;  ///< module that accepts the object
  std::string_view variant;  ///< variant of that module; empty: the only one
  const void* object;        ///< points to the handle
  std::size_t bytes;         ///< size of the handle
};

/// Access to the job through a launcher or a foreign communicator, sufficient to set up the job's store.
class TUTTI_API Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Whether all ranks are known to be on one host; the store then needs no network.
  [[nodiscard]] virtual bool same_host() const { return false; }
  /// Returns the value of rank 0 on every rank; collective.
  [[nodiscard]] virtual std::string broadcast(std::string_view value) = 0;
};

struct CreateContext {
  const Config& config;
  const Rendezvous& rendezvous;
  const Peers& peers;
  /// For split and duplicate: the parent communicator and, by new rank, the members' ranks in the parent.
  BackendCommunicator* parent = nullptr;
  std::span<const int> members = {};
  /// Foreign communicator passed by the application, or null.
  const ForeignHandle* handle = nullptr;
  /// As in ProbeContext.
  std::string_view rest = {};
  /// Where a backend that has the clock at hand while it waits may note since when (CallProgress::lasts_since()); null
  /// where nobody reads it. Outlives the communicator.
  CallProgress* progress = nullptr;
};

/// A variable of the environment that belongs to another product and that a module reads, for `tutti info --config`.
struct ForeignVariable {
  std::string name;
  std::string value;  ///< "(set)" for a secret
  bool is_set = false;
  std::string default_value;
  std::string help;  ///< one sentence; for a variable without effect, the reason
  std::string note;  ///< error in the value; may be empty
};

/// Entry of a backend in the registry. One per shared object `libtutti_backend_<name>.so`, or
/// `libtutti_backend_<name>.<variant>.so` if one source is built several times.
struct BackendModule {
  std::uint32_t abi = kModuleAbi;
  std::string_view name = {};
  std::string_view variant = {};
  std::string_view description = {};
  std::span<const Setting> settings = {};
  /// Products of the library that this variant serves, each a word that may follow the name in a spec.
  std::span<const std::string_view> products = {};
  /// Whether the module stands on another backend: the spec of that one may follow the name, else it is chosen.
  bool nests = false;
  /// Launchers of the library, one per product at most. tutti itself starts the ranks of a module that has none.
  std::span<const Launcher> launchers = {};
  /// Spec of the launcher of another module that starts the ranks of this one best; where that
  /// launcher is not usable, tutti starts them.
  std::string_view launched_through = {};

  Probe (*probe)(const ProbeContext&) = nullptr;
  std::unique_ptr<BackendCommunicator> (*create)(const CreateContext&) = nullptr;

  /// Optional. Lists variables of other products that the module reads. Throws nothing for bad values.
  std::vector<ForeignVariable> (*foreign_variables)() = nullptr;
  /// Optional. Returns the job if a launcher of this library started this process, otherwise null. Throws
  /// Error{backend_unavailable} if it cannot use that launcher; other ways to find the job are tried then.
  std::unique_ptr<Bootstrap> (*launched)(const Config&) = nullptr;
  /// Optional. Returns a bootstrap over a communicator of this library.
  std::unique_ptr<Bootstrap> (*adopt)(const ForeignHandle&) = nullptr;
};

/// Symbol that a module exports: `extern "C" const BackendModule* tutti_backend_module()`.
using BackendModuleEntry = const BackendModule* (*)();
inline constexpr const char* kBackendModuleSymbol = "tutti_backend_module";

}  // namespace tutti::spi

namespace tutti {
class Communicator;
struct CommunicatorOptions;

/// Creates a communicator over a communicator of another library; called by the interop headers. Collective over its
/// ranks. The foreign communicator must outlive it. Throws Error{backend_unavailable} if no module accepts it.
[[nodiscard]] TUTTI_API Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options);
}  // namespace tutti
