#pragma once

#include <string>
#include <vector>

/// Finds and opens libnccl.so.2. Nothing here starts NCCL.
namespace tutti::nccl {

/// An opened library, or the reason why none could be opened.
struct Library {
  void* handle = nullptr;  ///< null: see `failure`
  int number = 0;          ///< from ncclGetVersion: 22809
  std::string version;     ///< "NCCL 2.28.9"
  std::string file;
  std::string failure;  ///< a whole sentence
};

/// The oldest version that is supported: the first with non-blocking communicators.
inline constexpr int kOldestVersion = 21400;

/// "2.28.9" for 22809, "2.8.4" for 2804: NCCL changed the encoding after 2.8.
[[nodiscard]] std::string version_text(int number);

/// Opens the library: the one already loaded in the process, else the file that `setting` (TUTTI_NCCL_LIBRARY) names,
/// else libnccl.so.2 in the search path or in one of `folders`. The library is never closed. Throws nothing but
/// std::bad_alloc.
[[nodiscard]] Library open_library(const std::string& setting, const std::vector<std::string>& folders);

}  // namespace tutti::nccl
