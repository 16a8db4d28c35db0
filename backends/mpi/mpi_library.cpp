#include "mpi_library.hpp"

#include <dlfcn.h>

#include <array>

namespace tutti::mpi {
namespace {

// The largest MPI_MAX_LIBRARY_VERSION_STRING of all ABIs; the ABI is not known before the call.
constexpr std::size_t kVersionTextSize = 8192;

// By the names that only the library itself defines: a preloaded tool defines MPI_* without an MPI behind them.
constexpr const char* kVersionFunction = "PMPI_Get_library_version";
constexpr const char* kInitializedFunction = "PMPI_Initialized";

std::string version_text(void* handle) {
  using GetVersion = int (*)(char*, int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(handle, kVersionFunction));
  if (get_version == nullptr) return {};
  std::array<char, kVersionTextSize> text = {};
  int length = 0;
  if (get_version(text.data(), &length) != 0) return {};
  return text.data();
}

bool is_initialized(void* handle) {
  using Initialized = int (*)(int*);
  const auto initialized = reinterpret_cast<Initialized>(dlsym(handle, kInitializedFunction));
  int flag = 0;
  return initialized != nullptr && initialized(&flag) == 0 && flag != 0;
}

/// The word that follows `label`, without a leading v or a trailing comma.
std::string word_after(std::string_view text, std::string_view label) {
  const std::size_t found = text.find(label);
  if (found == std::string_view::npos) return {};
  text.remove_prefix(found + label.size());
  const std::size_t begin = text.find_first_not_of(" \t:v");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find_first_of(" \t\r\n,")));
}

/// Accepts `handle` if it is a library of this ABI, else describes it in `failure`.
bool accept(Library& library, Abi abi, void* handle, const std::string& origin) {
  const std::string text = version_text(handle);
  const LibraryIdentity identity = identify_library(text);
  if (identity.abi != abi) {
    library.failure = origin + " contains " + (text.empty() ? "no MPI library" : identity.version) +
                      "; a library with the ABI of " + (abi == Abi::openmpi ? "Open MPI" : "MPICH") + " is needed";
    return false;
  }
  library = {handle, identity.version, identity.product, origin, {}};
  return true;
}

/// Returns true when the search is over: a library was accepted, or the program itself has an MPI of the other ABI.
bool find_in_process(Library& library, Abi abi) {
  for (const std::string& name : library_names(abi)) {
    if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      if (accept(library, abi, handle, name)) return true;
    }
  }
  // The program may be linked to MPI statically, or to a library with an unusual name.
  if (dlsym(RTLD_DEFAULT, kVersionFunction) == nullptr) return false;
  accept(library, abi, dlopen(nullptr, RTLD_NOW), "the program");
  return true;
}

bool open_file(Library& library, Abi abi, const std::string& file) {
  // RTLD_LOCAL: the symbols of this MPI must stay invisible to a program that may bring its own MPI.
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* message = dlerror();
    library.failure = message != nullptr ? message : "cannot open " + file;
    return false;
  }
  if (accept(library, abi, handle, file)) return true;
  dlclose(handle);
  return false;
}

}  // namespace

LibraryIdentity identify_library(std::string_view text) {
  struct Row {
    std::string_view label;
    std::string_view name;
    Abi abi;
    std::string_view product;
  };
  // "CRAY MPICH version" and "MVAPICH2 Version" before the shorter names they contain or resemble.
  static constexpr std::array<Row, 7> rows = {{
      {"Open MPI", "Open MPI", Abi::openmpi, "openmpi"},
      {"Spectrum MPI", "Spectrum MPI", Abi::openmpi, "openmpi"},
      {"Intel(R) MPI Library", "Intel MPI", Abi::mpich, "intel"},
      {"CRAY MPICH version", "Cray MPICH", Abi::mpich, "mpich"},
      {"MVAPICH2 Version", "MVAPICH2", Abi::mpich, "mpich"},
      {"MVAPICH Version", "MVAPICH", Abi::mpich, "mpich"},
      {"MPICH Version", "MPICH", Abi::mpich, "mpich"},
  }};
  for (const Row& row : rows) {
    if (text.find(row.label) == std::string_view::npos) continue;
    const std::string number = word_after(text, row.label);
    return {row.abi, std::string(row.name) + (number.empty() ? "" : " " + number), std::string(row.product)};
  }
  return {std::nullopt, std::string(text.substr(0, text.find_first_of("\r\n"))), {}};
}

Library open_library(Abi abi, const std::string& setting, const EnvironmentLookup& environment) {
  Library library;
  if (find_in_process(library, abi)) return library;
  if (!setting.empty()) {
    if (!open_file(library, abi, setting)) library.failure = "TUTTI_MPI_LIBRARY: " + library.failure;
    return library;
  }
  for (const std::string& candidate : library_candidates(abi, environment, ancestor_executables())) {
    if (open_file(library, abi, candidate)) return library;
  }
  std::string names;
  for (const std::string& name : library_names(abi)) names += (names.empty() ? "" : " or ") + name;
  library.failure = "no " + names + " was found; set TUTTI_MPI_LIBRARY to the file of the library: " + library.failure;
  return library;
}

void* Library::find(const char* symbol) const {
  void* const global = dlsym(RTLD_DEFAULT, kVersionFunction) == nullptr ? nullptr : dlsym(RTLD_DEFAULT, symbol);
  return global != nullptr ? global : dlsym(handle, symbol);
}

bool is_initialized_in_process(Abi abi) {
  for (const std::string& name : library_names(abi)) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    const bool yes = is_initialized(handle);
    dlclose(handle);
    if (yes) return true;
  }
  // As in find_in_process(): linked statically, or to a library with an unusual name.
  return is_initialized(RTLD_DEFAULT) && identify_library(version_text(RTLD_DEFAULT)).abi == abi;
}

}  // namespace tutti::mpi
