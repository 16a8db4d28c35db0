#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "mpi_runtime.hpp"
#include "setup/setup_calls.hpp"
#include "setup/start_watch.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::mpi {

/// Bootstrap of a job by MPI: rank and size, and a broadcast that carries the address of the job's store to all ranks.
class Bootstrap final : public spi::Bootstrap {
 public:
  /// Duplicates `comm` for its own use; collective over `comm`. It and broadcast() throw Error{timeout} when the other
  /// ranks do not take part within `timeout`; nothing: no limit. `watch`: of the ranks that the launcher started; null:
  /// they are not watched.
  Bootstrap(Runtime& runtime, MPI_Comm comm, std::optional<std::chrono::nanoseconds> timeout,
            std::unique_ptr<StartWatch> watch);
  ~Bootstrap() override;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool same_host() const override { return same_host_; }
  [[nodiscard]] std::string broadcast(std::string_view value) override;

 private:
  /// Calls start(*memory, &request), a non-blocking collective, and waits for it. On failure the memory is left to MPI.
  template <typename Memory, typename Start>
  std::unique_ptr<Memory> complete(std::unique_ptr<Memory> memory, const char* what, Start start);

  [[nodiscard]] Error late(const char* what) const;

  Runtime& runtime_;
  std::unique_ptr<StartWatch> watch_;
  SetupCalls own_calls_;  ///< without a watch
  SetupCalls& calls_;
  MPI_Comm comm_;
  std::optional<std::chrono::nanoseconds> timeout_;
  bool is_abandoned_ = false;  ///< a collective on comm_ is pending for ever
  int rank_ = 0;
  int size_ = 1;
  bool same_host_ = false;
};

/// Bootstrap over MPI_COMM_WORLD if a launcher of this ABI started this process or the application called MPI_Init;
/// null otherwise, or if the job has one rank. Starts MPI. Throws Error{backend_unavailable} when there is no library,
/// or when the launcher started several ranks and the library is not that of the launcher.
[[nodiscard]] std::unique_ptr<spi::Bootstrap> bootstrap_from_launcher(const Config& config);

/// Bootstrap over a communicator of the application; collective over it. Throws Error{invalid_argument} when the handle
/// is not an MPI_Comm of this ABI, Error{invalid_usage} when MPI is not running.
[[nodiscard]] std::unique_ptr<spi::Bootstrap> bootstrap_from_handle(const spi::ForeignHandle& handle);

/// The MPI_Comm in a handle. Throws Error{invalid_argument} when it is not one of this ABI.
[[nodiscard]] MPI_Comm comm_of(const spi::ForeignHandle& handle);

}  // namespace tutti::mpi
