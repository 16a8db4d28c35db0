#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

/// Choice of the libraries that stand in front of an MPI library, by the functions that it has. For the program that
/// sets LD_PRELOAD.
namespace tutti::mpi_table {

/// Functions beyond MPI 3.1 that an MPI library has.
struct LibraryLevel {
  bool has_sessions = false;      ///< MPI_Session_init and the other functions of MPI 4
  bool has_large_counts = false;  ///< MPI_Allreduce_c and the other forms for large counts
};

/// Looks into the file of an MPI library. A library that cannot be read counts as one of MPI 3.1.
[[nodiscard]] inline LibraryLevel level_of(const std::filesystem::path& mpi_library) {
  std::ifstream file(mpi_library, std::ios::binary);
  // Names of functions stand in the file as texts that end with a zero; that of MPI_x may be the end of PMPI_x. The
  // window keeps the end of the chunk before.
  const std::string_view session("MPI_Session_init\0", 17);
  const std::string_view large("MPI_Allreduce_c\0", 16);
  LibraryLevel level;
  std::string window;
  std::vector<char> chunk(std::size_t{1} << 20);
  while (file && !(level.has_sessions && level.has_large_counts)) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    window.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
    level.has_sessions = level.has_sessions || window.find(session) != std::string::npos;
    level.has_large_counts = level.has_large_counts || window.find(large) != std::string::npos;
    window.erase(0, window.size() - std::min(window.size(), std::size_t{32}));
  }
  return level;
}

/// Base names of the libraries to preload for an MPI library, in order. The first knows the functions of MPI 3.1; the
/// others are left out if the MPI library lacks their functions, because programs test for these by their presence.
[[nodiscard]] inline std::vector<std::string> source_libraries(const std::filesystem::path& mpi_library) {
  const LibraryLevel level = level_of(mpi_library);
  std::vector<std::string> names = {"libtutti_source_mpi.so"};
  if (level.has_sessions) names.emplace_back("libtutti_source_mpi_4.so");
  if (level.has_large_counts) names.emplace_back("libtutti_source_mpi_large.so");
  return names;
}
/// The same for the adapter, which passes on the other functions of MPI 4.
[[nodiscard]] inline std::vector<std::string> adapter_libraries(const std::filesystem::path& mpi_library) {
  std::vector<std::string> names = {"libtutti_adapter_mpi.so"};
  if (level_of(mpi_library).has_large_counts) names.emplace_back("libtutti_adapter_mpi_large.so");
  return names;
}

namespace detail {

inline std::filesystem::path find_program(const std::string& name, std::string_view path) {
  std::error_code ignored;
  if (name.find('/') != std::string::npos) return std::filesystem::canonical(name, ignored);
  while (!path.empty()) {
    const std::string_view folder = path.substr(0, path.find(':'));
    path.remove_prefix(std::min(path.size(), folder.size() + 1));
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (std::filesystem::is_regular_file(file, ignored)) return std::filesystem::canonical(file, ignored);
  }
  return {};
}

inline bool contains(const std::filesystem::path& file, std::string_view text) {
  return file.string().find(text) != std::string::npos;
}

}  // namespace detail

/// The MPI library that a launcher belongs to: mpirun, mpiexec, mpiexec.hydra, prterun and so on, found in `path`
/// (the value of PATH), its links followed. Empty if the command is no launcher of MPI or its library is not beside it;
/// then the libraries for an empty path are right.
[[nodiscard]] inline std::filesystem::path mpi_library_of_launcher(const std::string& command, std::string_view path) {
  namespace fs = std::filesystem;
  const std::string name = fs::path(command).filename().string();
  if (!name.starts_with("mpirun") && !name.starts_with("mpiexec") && !name.starts_with("orterun") &&
      !name.starts_with("prterun"))
    return {};
  const fs::path launcher = detail::find_program(command, path);
  if (launcher.empty()) return {};
  const std::string target = launcher.filename().string();
  const bool is_open_mpi = target.find("orterun") != std::string::npos || target.find("prterun") != std::string::npos ||
                           target.find("openmpi") != std::string::npos;
  const std::vector<std::string> files =
      is_open_mpi ? std::vector<std::string>{"libmpi.so.40", "libmpi.so"}
                  : std::vector<std::string>{"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"};
  const fs::path prefix = launcher.parent_path().parent_path();
  std::error_code ignored;
  std::vector<fs::path> folders = {prefix / "lib", prefix / "lib64", prefix / "lib" / "release"};
  // Debian's folders of an architecture.
  for (fs::directory_iterator entry(prefix / "lib", ignored), end; !ignored && entry != end; entry.increment(ignored))
    if (detail::contains(entry->path().filename(), "-linux-gnu")) folders.push_back(entry->path());
  for (const auto& file : files)
    for (const auto& folder : folders)
      if (fs::is_regular_file(folder / file, ignored)) return folder / file;
  return {};
}

}  // namespace tutti::mpi_table
