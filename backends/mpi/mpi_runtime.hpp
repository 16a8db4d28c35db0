#pragma once

#include <memory>
#include <string>

#include "mpi_api.hpp"
#include "mpi_gpu.hpp"
#include "mpi_library.hpp"
#include "mpi_threads.hpp"
#include "mpi_types.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/home_process.hpp"

namespace tutti::mpi {

/// MPI in this process: one library, started once. All is thread-safe.
class Runtime {
 public:
  /// The library of this module's ABI, opened at the first call; the settings of that call count. MPI is not started.
  [[nodiscard]] static const Library& library(const Config& config);

  /// MPI running: initialises it unless the application did. Throws Error{backend_unavailable} when there is no library
  /// or the other ABI's MPI runs in this process, Error{invalid_usage} when MPI was finalised or takes only calls of
  /// another thread.
  [[nodiscard]] static Runtime& started(const Config& config);

  /// Whether the library is in the process and runs (initialised and not finalised). Opens nothing.
  [[nodiscard]] static bool is_running();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] const Types& types() const noexcept { return *types_; }
  [[nodiscard]] const GpuSupport& gpus() const noexcept { return gpus_; }
  /// "MPICH 4.0.2", ...
  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  /// To be entered around calls into MPI.
  [[nodiscard]] ThreadGate& gate() noexcept { return gate_; }

  /// A communicator was given up while MPI still worked on it: MPI_Finalize would wait for that, so leave without.
  void skip_finalize() noexcept;
  [[nodiscard]] bool is_finalized() const;
  /// Whether MPI was started in this process, and not in its parent.
  [[nodiscard]] bool is_at_home() const noexcept { return home_.is_here(); }

 private:
  explicit Runtime(const Library& library, const Config& config);
  void initialize(const Config& config);

  spi::HomeProcess home_;
  Api api_;
  std::string version_;
  std::unique_ptr<Types> types_;
  GpuSupport gpus_;
  ThreadGate gate_;
};

}  // namespace tutti::mpi
