#include "mpi_gpu.hpp"

namespace tutti::mpi {

GpuSupport GpuSupport::of(const Api& api) {
  const auto says_yes = [](const spi::VendorFunction<Answer (*)()>& query) { return query && query() != Answer::no; };
  return {.cuda = says_yes(api.query_cuda_support), .level_zero = says_yes(api.query_ze_support)};
}

bool GpuSupport::takes(std::string_view module, std::string_view driver) const noexcept {
  if (module == "cuda") return cuda;
  if (module == "level_zero") return level_zero;
  if (module != "sycl") return false;
  if (driver.find("Level-Zero") != std::string_view::npos) return level_zero;
  return driver.find("CUDA") != std::string_view::npos && cuda;
}

}  // namespace tutti::mpi
