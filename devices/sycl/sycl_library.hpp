#pragma once

#include <string>

namespace tutti::sycl_device {

/// libsycl in this process and the runtime part, tutti's library that is linked with it.
struct Library {
  void* runtime = nullptr;  ///< handle of the runtime part; null when it is not usable
  std::string origin;       ///< the file of libsycl
  std::string failure;      ///< why `runtime` is null, in one sentence
};

/// Opens libsycl, once per process: the one the program uses, else the file `setting` names, else the one the loader
/// finds, else the one tutti was built with. Then opens the runtime part, beside this module.
[[nodiscard]] const Library& open_library(const std::string& setting);

/// Why the runtime may see no device although a driver is there; empty when no reason is known. MPI libraries load the
/// system's OpenCL loader through hwloc, and the runtime then uses that instead of its own.
[[nodiscard]] std::string missing_device_hint(const Library& library);

}  // namespace tutti::sycl_device
