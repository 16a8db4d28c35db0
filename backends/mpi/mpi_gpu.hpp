#pragma once

#include <string_view>

#include "mpi_api.hpp"

namespace tutti::mpi {

/// Kinds of device memory that the MPI library accepts directly ("GPU-aware"), as the library reports them.
struct GpuSupport {
  bool cuda = false;
  bool level_zero = false;

  /// Call after MPI was started: some libraries know the answer only then.
  [[nodiscard]] static GpuSupport of(const Api& api);

  /// Whether MPI accepts memory of the device module `module`. `driver` is DeviceInfo::driver of the device: SYCL
  /// memory counts as memory of the driver below SYCL.
  [[nodiscard]] bool takes(std::string_view module, std::string_view driver) const noexcept;
};

}  // namespace tutti::mpi
