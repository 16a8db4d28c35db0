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

namespace tutti::spi {

/// Changes whenever anything a module sees changes; a module with another number is not used.
inline constexpr std::uint32_t kModuleAbi = 7;

/// Who the ranks of a group are; exchanged before a backend is chosen.
struct Peers {
  int rank = 0;
  int size = 1;
  std::vector<std::string> hosts;    ///< by rank: equal strings can share memory
  std::vector<std::int64_t> pids;    ///< by rank; 0: another process that has our number in its pid namespace
  std::vector<int> numa_nodes = {};  ///< by rank: the node its CPUs belong to; -1: several, or not known
  bool same_host = true;             ///< all ranks
  bool same_process = true;          ///< all ranks are threads of this process (true for one rank)
};

/// What a module says about this machine, this launch and this group. Probing prints nothing and never crashes;
/// what it throws is the reason why not.
struct Probe {
  bool usable = false;
  std::string reason;   ///< why not, or what was found: one sentence
  std::string version;  ///< of the library underneath
  int preference = 0;   ///< `auto` takes the usable one with the highest
  Capabilities capabilities = {};
};

struct ProbeContext {
  const Config& config;
  const Peers* peers = nullptr;  ///< null: no group is known (`tutti info`)
};

/// A communicator object of another library that the application hands over.
struct ForeignHandle {
  std::string_view backend;  ///< module that understands it
  std::string_view variant;  ///< variant of that module; empty: the only one
  const void* object;        ///< points to the handle
  std::size_t bytes;         ///< size of the handle
};

/// What a launcher or a foreign communicator knows of the job: enough to set up the job's own store.
class TUTTI_API Bootstrap {
 public:
  virtual ~Bootstrap() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Whether all ranks are known to be on one host; the store then needs no network.
  [[nodiscard]] virtual bool same_host() const { return false; }
  /// The value of rank 0 on every rank; collective.
  [[nodiscard]] virtual std::string broadcast(std::string_view value) = 0;
};

struct CreateContext {
  const Config& config;
  const Rendezvous& rendezvous;
  const Peers& peers;
  /// For split and duplicate: the communicator the new one is made from and, by new rank, the members' ranks in it.
  BackendCommunicator* parent = nullptr;
  std::span<const int> members = {};
  /// For a foreign communicator handed over by the application.
  const ForeignHandle* handle = nullptr;
};

/// A backend as the registry knows it. One per shared object `libtutti_backend_<name>.so`, or
/// `libtutti_backend_<name>.<variant>.so` where one source is built several times.
struct BackendModule {
  std::uint32_t abi = kModuleAbi;
  std::string_view name;
  std::string_view variant;
  std::string_view description;
  std::span<const Setting> settings = {};

  Probe (*probe)(const ProbeContext&) = nullptr;
  std::unique_ptr<BackendCommunicator> (*create)(const CreateContext&) = nullptr;

  /// Null, or: the job this process was started in by a launcher of this library; null when it was not.
  std::unique_ptr<Bootstrap> (*launched)(const Config&) = nullptr;
  /// Null, or: a bootstrap over a communicator of this library.
  std::unique_ptr<Bootstrap> (*adopt)(const ForeignHandle&) = nullptr;
};

/// The symbol a module exports: `extern "C" const BackendModule* tutti_backend_module()`.
using BackendModuleEntry = const BackendModule* (*)();
inline constexpr const char* kBackendModuleSymbol = "tutti_backend_module";

}  // namespace tutti::spi

namespace tutti {
class Communicator;
struct CommunicatorOptions;

/// A communicator over one of another library; what the interop headers call. Collective over its ranks. The foreign
/// communicator must outlive it.
[[nodiscard]] TUTTI_API Communicator adopt(const spi::ForeignHandle& handle, const CommunicatorOptions& options);
}  // namespace tutti
