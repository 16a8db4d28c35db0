#pragma once

#include <string>
#include <vector>

/// Finding and opening libnccl.so.2. Nothing here starts NCCL.
namespace tutti::nccl {

/// A library that was opened, or the reason why there is none.
struct Library {
  void* handle = nullptr;  ///< null: see `failure`
  int number = 0;          ///< as ncclGetVersion says: 22809
  std::string version;     ///< "NCCL 2.28.9"
  std::string file;
  std::string failure;  ///< a whole sentence
};

/// The oldest with communicators that do not block.
inline constexpr int kOldestVersion = 21400;

/// "2.28.9" of 22809, "2.8.4" of 2804: NCCL changed how it counts after 2.8.
[[nodiscard]] std::string version_text(int number);

/// Opens the library: the one that is in the process already, else the one `setting` (TUTTI_NCCL_LIBRARY) names, else
/// libnccl.so.2 in the search path or in one of `folders`. Never closed again. Throws nothing but std::bad_alloc.
[[nodiscard]] Library open_library(const std::string& setting, const std::vector<std::string>& folders);

}  // namespace tutti::nccl
