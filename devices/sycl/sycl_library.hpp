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

}  // namespace tutti::sycl_device
