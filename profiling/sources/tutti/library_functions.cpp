#include "sources/tutti/library_functions.hpp"

#include "sources/common/loaded_library.hpp"

namespace tutti::profiling {

namespace {

/// A library by the name that tutti's modules give it, and the source under whose title its calls belong.
struct LibraryRow {
  std::string_view library;
  std::string_view source;
  std::string_view title;
  int level;
  std::int64_t not_ready;  ///< result of polling
  /// The source itself sees every call of the process, those of tutti included.
  const char* sees_all;
};
constexpr std::array<LibraryRow, 7> kLibraries = {{
    {"MPI", "mpi", "BACKEND_MPI", 3, 0, nullptr},
    {"oneCCL", "ccl", "BACKEND_CCL", 8, 0, nullptr},
    {"NCCL", "nccl", "BACKEND_NCCL", 7, 7, nullptr},
    {"level_zero", "ze", "BACKEND_ZE", 1, 1, nullptr},
    {"cuda", "cuda", "BACKEND_CUDA", 1, 600, "libtutti_source_cuda.so"},
    {"cudart", "cuda", "BACKEND_CUDA", 1, 600, "libtutti_source_cuda.so"},
    {"sycl", "sycl", "BACKEND_UR", 6, 0, nullptr},
}};

/// Calls that only ask for something, at a high rate.
bool only_asks(std::string_view function) noexcept {
  for (const std::string_view part : {"Query", "Properties", "MPI_Wt"}) {
    if (function.find(part) != std::string_view::npos) return true;
  }
  return false;
}

LibraryFunction describe(std::string_view library, std::string_view function, SourceId tutti_source) noexcept {
  LibraryFunction result;
  result.name = intern(function);
  result.source = tutti_source;
  result.is_wanted = source_wanted("tutti");
  for (const LibraryRow& row : kLibraries) {
    if (row.library != library) continue;
    result.source = add_source(row.title, row.level);
    result.is_wanted = source_wanted(row.source) && (row.sees_all == nullptr || !is_library_loaded(row.sees_all));
    result.not_ready = row.not_ready;
  }
  const TracingMode mode = tracing_mode();
  if (mode == TracingMode::minimal || (mode == TracingMode::standard && only_asks(function))) result.is_wanted = false;
  return result;
}

}  // namespace

LibraryFunction LibraryFunctions::of(std::string_view library, std::string_view function,
                                     SourceId tutti_source) noexcept {
  const auto hash = reinterpret_cast<std::uintptr_t>(function.data()) * 0x9E3779B97F4A7C15U;
  for (std::size_t i = 0; i < 16; ++i) {
    Slot& slot = slots_[((hash >> 32) + i) % kSlots];
    const char* key = slot.key.load(std::memory_order_relaxed);
    if (key == nullptr && slot.key.compare_exchange_strong(key, function.data(), std::memory_order_relaxed)) {
      slot.function = describe(library, function, tutti_source);
      slot.is_complete.store(true, std::memory_order_release);
      return slot.function;
    }
    if (key != function.data()) continue;
    // Acquire: pairs with the release by the thread that described the function.
    if (slot.is_complete.load(std::memory_order_acquire)) return slot.function;
    break;
  }
  return describe(library, function, tutti_source);
}

}  // namespace tutti::profiling
