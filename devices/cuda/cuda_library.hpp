#pragma once

#include <memory>
#include <string>

#include "cuda_api.hpp"

namespace tutti::cuda_device {

/// The CUDA of this process.
struct Library {
  std::unique_ptr<const Api> api;  ///< null when there is none that works here
  std::string origin;              ///< the file of libcudart
  std::string version;             ///< "13.0"
  std::string driver;              ///< the CUDA version that the driver is for
  std::string failure;             ///< why there is none: one sentence
  int devices = 0;
};

/// Opens libcudart, once per process: the file `setting` names; else the program's own, the one the loader finds or the
/// one tutti was built with, the newest that the driver can run. Starts no device.
[[nodiscard]] const Library& open_library(const std::string& setting);

}  // namespace tutti::cuda_device
