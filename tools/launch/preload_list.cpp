#include "launch/preload_list.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/mpi/mpi_preload.hpp"
#include "text/text.hpp"
#include "tutti/info.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

/// The launcher that started this process, or an ancestor of it: its program's file. Launchers start ranks through
/// helpers of their own.
std::string ancestor_launcher() {
  constexpr int kGenerations = 4;
  pid_t pid = getpid();
  for (int i = 0; i < kGenerations && pid > 1; ++i) {
    std::ifstream stat(concat("/proc/", pid, "/stat"));
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos) return {};
    std::istringstream fields(text.substr(end + 2));
    char state = 0;
    fields >> state >> pid;
    std::error_code error;
    const fs::path program = fs::read_symlink(concat("/proc/", pid, "/exe"), error);
    if (!error && !mpi_table::mpi_library_of_launcher(program, {}).empty()) return program;
  }
  return {};
}

}  // namespace

std::string module_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&version), &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  return error ? std::string() : (library.parent_path() / TUTTI_MODULE_DIR).string();
}

void prepend_preloads(const std::vector<std::string>& libraries, ProcessEnvironment& environment) {
  std::vector<std::string> first;
  std::vector<std::string> last;
  std::string before = environment.get("LD_PRELOAD");
  std::ranges::replace(before, ' ', ':');
  for (const std::string& library : split(before, ':')) {
    if (library.empty() || std::ranges::find(libraries, library) != libraries.end()) continue;
    const std::string file = fs::path(library).filename();
    const bool is_sanitizer = file.starts_with("libasan") || file.starts_with("libtsan") ||
                              file.starts_with("libclang_rt") || file.starts_with("liblsan");
    (is_sanitizer ? first : last).push_back(library);
  }
  first.insert(first.end(), libraries.begin(), libraries.end());
  first.insert(first.end(), last.begin(), last.end());
  if (!first.empty()) environment.set("LD_PRELOAD", join(first, ":"));
}

std::string mpi_library_of_job(const std::string& command, const std::string& path) {
  const fs::path library = mpi_table::mpi_library_of_launcher(command, path);
  return library.empty() ? mpi_table::mpi_library_of_launcher(ancestor_launcher(), path) : library;
}

}  // namespace tutti::tools
