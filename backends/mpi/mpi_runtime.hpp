#pragma once

#include <memory>
#include <string>

#include "common/library_users.hpp"
#include "mpi_api.hpp"
#include "mpi_gpu.hpp"
#include "mpi_library.hpp"
#include "mpi_threads.hpp"
#include "mpi_types.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/home_process.hpp"

namespace tutti::mpi {

class SetupCalls;

/// The MPI of this process: one library, opened once and started once. All functions are thread-safe.
class Runtime {
 public:
  /// The library of this module's ABI. The first call opens it, with the settings of that call. Does not start MPI.
  [[nodiscard]] static const Library& library(const Config& config);

  /// The started MPI: initialises it, as a step of `calls`, unless the application has. Throws
  /// Error{backend_unavailable} when there is no library or an MPI of the other ABI runs in this process,
  /// Error{invalid_usage} when MPI was finalised or its thread level excludes the calling thread.
  [[nodiscard]] static Runtime& started(const Config& config, SetupCalls& calls);

  /// Whether a library of this ABI is loaded in the process and was initialised, even if it was finalised since. Opens
  /// nothing.
  [[nodiscard]] static bool is_running();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const Types& types() const noexcept { return *types_; }
  [[nodiscard]] const GpuSupport& gpus() const noexcept { return gpus_; }
  /// "MPICH 4.0.2", ...
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// Every call into MPI needs an Entry for this gate.
  [[nodiscard]] ThreadGate& gate() noexcept { return gate_; }
  /// The communicators of this process.
  [[nodiscard]] static common::LibraryUsers& users() noexcept;

  /// Lets the process exit without MPI_Finalize, which would wait for the pending calls of a communicator that was
  /// given up.
  static void skip_finalize() noexcept;
  [[nodiscard]] bool is_finalized() const;
  /// Whether MPI was started in this process; false in a forked child of it.
  [[nodiscard]] bool is_at_home() const noexcept { return home_.is_here(); }

 private:
  Runtime(const Library& library, const Config& config, SetupCalls& calls);
  void initialize(const Config& config, SetupCalls& calls);

  spi::HomeProcess home_;
  Api api_;
  std::string version_;
  bool is_intel_;
  std::unique_ptr<Types> types_;
  GpuSupport gpus_;
  ThreadGate gate_;
};

}  // namespace tutti::mpi
