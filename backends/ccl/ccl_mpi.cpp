#include "ccl_mpi.hpp"

#include <dlfcn.h>
#include <link.h>

#include <array>
#include <filesystem>

namespace tutti::ccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libmpi.so.12";
// MPI_MAX_LIBRARY_VERSION_STRING of the ABI of MPICH.
constexpr std::size_t kVersionTextSize = 8192;
// MPI_THREAD_MULTIPLE of the ABI of MPICH.
constexpr int kThreadMultiple = 3;

template <typename Function>
Function* find(void* handle, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(handle, symbol));
}

bool is_of_intel(void* handle) {
  auto* const get_version = find<int(char*, int*)>(handle, "MPI_Get_library_version");
  std::array<char, kVersionTextSize> text = {};
  int length = 0;
  return get_version != nullptr && get_version(text.data(), &length) == 0 &&
         std::string_view(text.data()).find("Intel(R) MPI Library") != std::string_view::npos;
}

bool is_true(void* handle, const char* symbol) {
  auto* const ask = find<int(int*)>(handle, symbol);
  int answer = 0;
  return ask != nullptr && ask(&answer) == 0 && answer != 0;
}

/// Whether oneCCL can start this MPI, or use it as it is running.
bool is_open_to_all_threads(void* handle) {
  if (is_true(handle, "MPI_Finalized")) return false;
  if (!is_true(handle, "MPI_Initialized")) return true;
  auto* const query_thread = find<int(int*)>(handle, "MPI_Query_thread");
  int level = 0;
  return query_thread != nullptr && query_thread(&level) == 0 && level >= kThreadMultiple;
}

bool is_loaded(const char* name) {
  void* const handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

}  // namespace

bool is_started_by_intel_mpi(const EnvironmentLookup& environment) {
  return environment("PMI_RANK") && environment("PMI_SIZE") && environment("I_MPI_HYDRA_UUID") &&
         !environment("OMPI_COMM_WORLD_RANK");
}

std::vector<std::string> mpi_candidates(const std::string& directory, const EnvironmentLookup& environment) {
  std::vector<std::string> files;
  if (const std::string root = environment("I_MPI_ROOT").value_or(""); !root.empty()) {
    for (const char* folder : {"lib", "lib/release"}) files.push_back((fs::path(root) / folder / kName).string());
  }
  if (!directory.empty()) {
    for (const char* folder : {".", "../opt/mpi/lib"}) {
      // oneCCL accepts no path with ".." in it.
      files.push_back((fs::path(directory) / folder / kName).lexically_normal().string());
    }
  }
  return files;
}

std::string find_intel_mpi(const std::string& directory, const EnvironmentLookup& environment) {
  if (void* const handle = dlopen(kName, RTLD_LAZY | RTLD_NOLOAD)) {
    link_map* map = nullptr;
    const bool usable = is_of_intel(handle) && is_open_to_all_threads(handle) &&
                        dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
    std::string file = usable ? map->l_name : "";
    dlclose(handle);
    return file;
  }
  for (const char* other : {"libmpich.so.12", "libmpi.so.40"}) {
    if (is_loaded(other)) return {};
  }
  for (const std::string& file : mpi_candidates(directory, environment)) {
    std::error_code error;
    if (fs::exists(file, error)) return file;
  }
  return {};
}

}  // namespace tutti::ccl
