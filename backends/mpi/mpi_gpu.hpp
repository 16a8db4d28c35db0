#pragma once

#include <string_view>

#include "mpi_api.hpp"

namespace tutti::mpi {

/// Whose device memory an MPI takes as it is ("GPU-aware"), as it says itself.
struct GpuSupport {
  bool cuda = false;
  bool level_zero = false;

  /// After MPI was started: some know only then.
  [[nodiscard]] static GpuSupport of(const Api& api);

  /// Memory of a device module's; `driver` is what DeviceInfo says of the device. SYCL's is whatever lies underneath.
  [[nodiscard]] bool takes(std::string_view module, std::string_view driver) const noexcept;
};

}  // namespace tutti::mpi
