#pragma once

#include <memory>
#include <string>

#include "cuda_api.hpp"

namespace tutti::cuda_device {

/// The CUDA libraries of this process.
struct Library {
  std::unique_ptr<const Api> api;  ///< null when no CUDA works here
  std::string origin;              ///< the file of libcudart
  std::string version;             ///< "13.0"
  std::string driver;              ///< CUDA version of the driver
  std::string failure;             ///< why `api` is null, in one sentence
  int devices = 0;
};

/// Opens libcudart, once per process: the file `setting` names; otherwise the first that the driver can run of the
/// program's own, those the loader finds (newest first) and the one tutti was built with. Starts no device.
[[nodiscard]] const Library& open_library(const std::string& setting);

}  // namespace tutti::cuda_device
