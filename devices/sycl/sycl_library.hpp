#pragma once

#include <string>

namespace tutti::sycl_device {

/// libsycl in this process and tutti's part that is linked with it.
struct Library {
  void* runtime = nullptr;  ///< handle of the part; null when there is none
  std::string origin;       ///< the file of libsycl
  std::string failure;      ///< why there is none: one sentence
};

/// Opens libsycl, once per process: the one the program uses, else the file `setting` names, else the one the loader
/// finds, else the one tutti was built with. Then the part that needs it, beside this module.
[[nodiscard]] const Library& open_library(const std::string& setting);

/// Why the runtime may see no device although a driver is there; empty when nothing is known. MPIs load an OpenCL of
/// the system's through hwloc, which the runtime then uses instead of its own.
[[nodiscard]] std::string missing_device_hint(const Library& library);

}  // namespace tutti::sycl_device
