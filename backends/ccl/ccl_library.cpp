#include "ccl_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

namespace fs = std::filesystem;

const char* library_name(ApiKind api) { return api == ApiKind::c ? "libccl.so.2" : "libccl.so.1"; }

// The oldest version with the current C++ interface.
constexpr unsigned kOldestMajor = 2021;

std::string last_dl_error(const std::string& otherwise) {
  const char* message = dlerror();
  return message != nullptr ? message : otherwise;
}

/// The record at `offset`, or nothing if the file is too short.
template <typename Record>
std::optional<Record> read_record(std::ifstream& file, std::uint64_t offset) {
  Record record{};
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  if (!file.read(reinterpret_cast<char*>(&record), sizeof record)) return std::nullopt;
  return record;
}

std::string read_text(std::ifstream& file, std::uint64_t offset) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

/// Opens a library after those dependencies of it that lie in the same folder. Intel's libraries have no run path and
/// rely on the search path that setvars.sh sets; dependencies that are loaded already are found by name.
void* open_with_neighbours(const std::string& file, std::set<std::string>& seen) {
  const fs::path directory = fs::path(file).parent_path();
  if (!directory.empty()) {
    for (const std::string& name : needed_libraries(file)) {
      const std::string neighbour = (directory / name).string();
      std::error_code error;
      if (!seen.insert(name).second || !fs::exists(neighbour, error)) continue;
      if (void* loaded = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
        dlclose(loaded);
        continue;
      }
      (void)open_with_neighbours(neighbour, seen);
    }
  }
  dlerror();
  // RTLD_LOCAL: the symbols of oneCCL and SYCL must stay invisible to a program that may bring its own.
  return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// File of an open library.
std::string file_of(void* handle, const char* name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name == nullptr) return name;
  return map->l_name;
}

std::string version_text(const BridgeVersion& number) {
  return "oneCCL " + std::to_string(number.major) + "." + std::to_string(number.minor) + "." +
         std::to_string(number.update);
}

/// The bridge to the libccl.so.1 that is loaded in the process; null, with the reason in `failure`, if it does not
/// work.
const Bridge* find_bridge(Library& library, const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.failure = library.file + " does not work with tutti's bridge: " + last_dl_error("cannot open " + file);
    return nullptr;
  }
  void* symbol = dlsym(handle, kBridgeSymbol);
  const Bridge* bridge = symbol != nullptr ? reinterpret_cast<BridgeEntry>(symbol)() : nullptr;
  if (bridge == nullptr || bridge->abi != kBridgeAbi) {
    library.failure = file + " is from another build of tutti; install both from one build";
    return nullptr;
  }
  if (bridge->version(&library.number) != 0) {
    library.failure = "cannot get the version of " + library.file + ": " + bridge->error();
    return nullptr;
  }
  library.version = version_text(library.number);
  return bridge;
}

void open_bridge(Library& library, const std::string& file) {
  const Bridge* bridge = find_bridge(library, file);
  if (bridge == nullptr) return;
  if (library.number.major < kOldestMajor) {
    library.failure = library.file + " is " + library.version + "; 2021 or newer is needed";
    return;
  }
  library.version += ", C++";
  library.bridge = bridge;
}

/// Opens the plug-in that does the work for libccl.so.2, on top of libccl.so.1. libccl.so.2 opens it by name, which
/// works once it is loaded.
bool open_plugin(Library& library, const EnvironmentLookup& environment) {
  const bool for_sycl = environment("CCL_PLUGIN") == "ONECCL_LEGACY";
  const char* const name = for_sycl ? "libccl_legacy.so" : "libccl_legacy_cpu.so";
  const std::string file = library.directory.empty() ? name : (fs::path(library.directory) / name).string();
  std::set<std::string> seen;
  if (open_with_neighbours(file, seen) != nullptr) return true;
  library.failure = library.file + " cannot be used without its plug-in: " + last_dl_error("cannot open " + file);
  return false;
}

void open_c_interface(Library& library, void* handle, const std::string& bridge, const EnvironmentLookup& environment) {
  library.queue_failure = "tutti uses oneCCL's C interface on host memory only";
  try {
    auto table = std::make_shared<const CApi>([handle](const char* name) { return dlsym(handle, name); });
    if (!open_plugin(library, environment)) return;
    // onecclGetVersion() would start the library, so the bridge reads the version of libccl.so.1. The library works
    // without a known version.
    if (find_bridge(library, bridge) == nullptr) library.version = "oneCCL";
    library.version += ", C";
    library.failure.clear();
    library.c_api = std::move(table);
  } catch (const Error& error) {
    library.failure = library.file + " cannot be used: " + error.what();
  }
}

/// Name of the libsycl that a file is linked to, such as "libsycl.so.9"; empty if there is none.
std::string sycl_of(const std::string& file) {
  for (const std::string& name : needed_libraries(file)) {
    if (name.starts_with("libsycl.so")) return name;
  }
  return {};
}

void open_queue_bridge(Library& library, const std::string& file) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) {
    library.queue_failure = "tutti was built without SYCL";
    return;
  }
  const std::string ours = sycl_of(file);
  const std::string theirs = sycl_of(library.file);
  if (!library.number.has_devices || ours != theirs) {
    library.queue_failure = library.version + " was built " +
                            (theirs.empty() ? std::string("without SYCL") : "with " + theirs) + ", tutti with " + ours;
    return;
  }
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    library.queue_failure = last_dl_error("cannot open " + file);
    return;
  }
  void* symbol = dlsym(handle, kQueueBridgeSymbol);
  const QueueBridge* bridge = symbol != nullptr ? reinterpret_cast<QueueBridgeEntry>(symbol)() : nullptr;
  if (bridge == nullptr || bridge->abi != kBridgeAbi) {
    library.queue_failure = file + " is from another build of tutti; install both from one build";
    return;
  }
  library.queues = bridge;
}

}  // namespace

std::vector<std::string> needed_libraries(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const auto header = read_record<ElfW(Ehdr)>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr))) {
    return {};
  }
  std::vector<ElfW(Phdr)> segments;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_record<ElfW(Phdr)>(file, header->e_phoff + i * sizeof(ElfW(Phdr)));
    if (segment) segments.push_back(*segment);
  }
  std::vector<std::uint64_t> offsets;
  std::uint64_t strings = 0;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    for (std::uint64_t at = 0; at < segment.p_filesz; at += sizeof(ElfW(Dyn))) {
      const auto entry = read_record<ElfW(Dyn)>(file, segment.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) offsets.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    }
  }
  // DT_STRTAB is an address in memory; the segment that contains it gives the offset in the file.
  std::vector<std::string> result;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD || strings < segment.p_vaddr || strings >= segment.p_vaddr + segment.p_filesz)
      continue;
    for (const std::uint64_t offset : offsets) {
      result.push_back(read_text(file, strings - segment.p_vaddr + segment.p_offset + offset));
    }
    break;
  }
  return result;
}

std::vector<std::string> library_candidates(const LibraryPlaces& places, const EnvironmentLookup& environment) {
  const char* const name = library_name(places.api);
  const auto below = [name](const std::string& root) { return (fs::path(root) / "lib" / name).string(); };
  if (places.root_is_chosen) return {below(places.root)};
  std::vector<std::string> files;
  if (const std::string root = environment("CCL_ROOT").value_or(""); !root.empty()) files.push_back(below(root));
  if (!places.root.empty()) files.push_back(below(places.root));
  files.emplace_back(name);
  return files;
}

Library open_library(const LibraryPlaces& places, const EnvironmentLookup& environment) {
  Library library = {.api = places.api};
  const char* const name = library_name(places.api);
  void* handle = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  std::string failures;
  if (handle == nullptr) {
    for (const std::string& file : library_candidates(places, environment)) {
      std::set<std::string> seen;
      handle = open_with_neighbours(file, seen);
      if (handle != nullptr) break;
      failures += (failures.empty() ? "" : "; ") + last_dl_error("cannot open " + file);
    }
  }
  if (handle == nullptr) {
    library.failure =
        places.root_is_chosen
            ? "TUTTI_ONECCL_ROOT: " + failures
            : "no " + std::string(name) + " was found; set TUTTI_ONECCL_ROOT to the folder of oneCCL: " + failures;
  } else {
    library.file = file_of(handle, name);
    library.directory = fs::path(library.file).parent_path().string();
    if (places.api == ApiKind::c) {
      open_c_interface(library, handle, places.bridge, environment);
    } else {
      open_bridge(library, places.bridge);
    }
  }
  if (library.bridge != nullptr) open_queue_bridge(library, places.queue_bridge);
  // Names the setting, because many versions of oneCCL have no C interface.
  if (places.api == ApiKind::c && !library.is_usable()) library.failure = "TUTTI_CCL_API=c: " + library.failure;
  return library;
}

}  // namespace tutti::ccl
