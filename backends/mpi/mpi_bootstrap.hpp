#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mpi_runtime.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::mpi {

/// What MPI itself knows of the job; carries the address of the job's store to all ranks.
class Bootstrap final : public spi::Bootstrap {
 public:
  /// Over a private duplicate of `comm`; collective.
  Bootstrap(Runtime& runtime, MPI_Comm comm);
  ~Bootstrap() override;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] bool same_host() const override { return same_host_; }
  [[nodiscard]] std::string broadcast(std::string_view value) override;

 private:
  Runtime& runtime_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  bool same_host_ = false;
};

/// The job a launcher of this ABI, or an application that called MPI_Init itself, started this process in; null when
/// there is none or it has one rank. Starts MPI.
[[nodiscard]] std::unique_ptr<spi::Bootstrap> bootstrap_from_launcher(const Config& config);

/// Over a communicator of the application. Throws Error{invalid_argument} when the handle is not of this ABI.
[[nodiscard]] std::unique_ptr<spi::Bootstrap> bootstrap_from_handle(const spi::ForeignHandle& handle);

/// The MPI_Comm behind a handle. Throws Error{invalid_argument}.
[[nodiscard]] MPI_Comm comm_of(const spi::ForeignHandle& handle);

}  // namespace tutti::mpi
