#include "prof/source_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/mpi/mpi_preload.hpp"
#include "launch/preload_list.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTuttiVariables = {SourceVariable{"TUTTI_OBSERVERS", "profile", Placement::last_of_commas}};
constexpr std::array kSyclVariables = {
    SourceVariable{"XPTI_TRACE_ENABLE", "1"},
    SourceVariable{"XPTI_FRAMEWORK_DISPATCHER", "@needs", Placement::if_absent},
    SourceVariable{"XPTI_SUBSCRIBERS", "@library", Placement::first_of_commas},
    SourceVariable{"UR_ENABLE_LAYERS", "UR_LAYER_TRACING", Placement::last_of_commas},
};
constexpr std::array kZeVariables = {SourceVariable{"ZE_ENABLE_TRACING_LAYER", "1"}};
constexpr std::array kCudaVariables = {SourceVariable{"CUDA_INJECTION64_PATH", "@library", Placement::if_absent}};

/// The parts of the MPI source for the functions that the launcher's MPI library has: programs test for functions by
/// their presence.
std::vector<std::string> mpi_libraries(const std::string& command, const std::string& path) {
  return mpi_table::source_libraries(mpi_library_of_job(command, path));
}

// In the order in which the libraries are preloaded: the outermost caller first.
constexpr std::array kTable = {
    SourceTraits{.name = "tutti",
                 .title = "BACKEND_TUTTI",
                 .library = "libtutti_observer_profile.so",
                 .variables = kTuttiVariables},
    SourceTraits{.name = "ccl", .title = "BACKEND_CCL", .library = "libtutti_source_ccl.so", .is_preloaded = true},
    SourceTraits{.name = "nccl", .title = "BACKEND_NCCL", .library = "libtutti_source_nccl.so", .is_preloaded = true},
    SourceTraits{.name = "mpi",
                 .title = "BACKEND_MPI",
                 .library = "libtutti_source_mpi.so",
                 .is_preloaded = true,
                 .preloads = mpi_libraries},
    SourceTraits{.name = "sycl",
                 .title = "BACKEND_UR",
                 .library = "libtutti_source_sycl.so",
                 .needs = "libxptifw.so",
                 .variables = kSyclVariables},
    SourceTraits{.name = "ze",
                 .title = "BACKEND_ZE",
                 .library = "libtutti_source_ze.so",
                 .is_preloaded = true,
                 .variables = kZeVariables},
    SourceTraits{
        .name = "cuda", .title = "BACKEND_CUDA", .library = "libtutti_source_cuda.so", .variables = kCudaVariables},
    SourceTraits{.name = "memory",
                 .title = "BACKEND_MEMORY",
                 .library = "libtutti_source_memory.so",
                 .is_preloaded = true,
                 .is_default = false},
};

const SourceTraits* find_source(std::string_view name) {
  const auto* const found = std::ranges::find(kTable, name, &SourceTraits::name);
  return found == kTable.end() ? nullptr : found;
}

/// Folders in which a library of oneAPI may be: those of the program's loader first, so that its runtime is taken.
std::vector<std::string> vendor_folders(const ProcessEnvironment& environment) {
  std::vector<std::string> folders;
  for (std::string& folder : split(environment.get("LD_LIBRARY_PATH"), ':')) {
    if (!folder.empty()) folders.push_back(std::move(folder));
  }
  std::vector<std::string> roots = {environment.get("CMPLR_ROOT"), environment.get("TUTTI_ONECCL_ROOT"),
                                    environment.get("CCL_ROOT"), TUTTI_ONECCL_ROOT};
  for (const std::string& root : roots) {
    if (!root.empty()) folders.push_back(root + "/lib");
  }
  folders.emplace_back("/usr/lib");
  return folders;
}

struct FoundFiles {
  std::string library;
  std::string needed;
};

/// The files of a source; nothing, with a reason in `missing`, if one is absent.
std::optional<FoundFiles> find_files(const SourceTraits& source, const ProcessEnvironment& environment,
                                     std::string& missing) {
  std::error_code ignored;
  FoundFiles files{.library = concat(module_folder(), '/', source.library), .needed = {}};
  if (!fs::exists(files.library, ignored)) {
    missing = concat("file ", files.library, " does not exist; it was not built");
    return std::nullopt;
  }
  if (source.needs.empty()) return files;
  const std::vector<std::string> folders = vendor_folders(environment);
  for (const std::string& folder : folders) {
    files.needed = concat(folder, '/', source.needs);
    if (fs::exists(files.needed, ignored)) return files;
  }
  missing = concat(source.needs, " is in none of ", join(folders, ", "), "; add its folder to LD_LIBRARY_PATH");
  return std::nullopt;
}

void set_variable(const SourceVariable& variable, const FoundFiles& files, ProcessEnvironment& environment) {
  const std::string name(variable.name);
  const std::string value = variable.value == "@library" ? files.library
                            : variable.value == "@needs" ? files.needed
                                                         : std::string(variable.value);
  const std::string before = environment.get(name);
  if (variable.placement == Placement::if_absent && !before.empty()) return;
  if (variable.placement == Placement::replace || before.empty()) return environment.set(name, value);
  const std::vector<std::string> elements = split(before, ',');
  if (std::ranges::find(elements, value) != elements.end()) return;
  const bool is_first = variable.placement == Placement::first_of_commas;
  environment.set(name, is_first ? concat(value, ',', before) : concat(before, ',', value));
}

/// Adds the files that are to be preloaded for a source.
void add_preloads(const SourceTraits& source, const FoundFiles& files, const std::string& command,
                  const ProcessEnvironment& environment, std::vector<std::string>& preloaded) {
  if (source.preloads != nullptr) {
    const std::string folder = files.library.substr(0, files.library.rfind('/') + 1);
    for (const std::string& name : source.preloads(command, environment.get("PATH")))
      preloaded.push_back(folder + name);
  } else if (source.is_preloaded) {
    preloaded.push_back(files.library);
  }
}

}  // namespace

std::span<const SourceTraits> source_table() { return kTable; }

std::vector<ChosenSource> parse_sources(std::string_view text) {
  std::vector<ChosenSource> chosen;
  for (const std::string& word : split(text, ',')) {
    ChosenSource source;
    const std::size_t colon = word.find(':');
    source.name = word.substr(0, colon);
    if (find_source(source.name) == nullptr) {
      std::vector<std::string> names;
      for (const SourceTraits& row : kTable) names.emplace_back(row.name);
      throw UsageError(concat("source \"", source.name, "\" is unknown; accepted: ", join(names, ", ")));
    }
    if (colon != std::string::npos) {
      const char* const end = word.data() + word.size();
      const auto [stop, error] = std::from_chars(word.data() + colon + 1, end, source.level);
      if (error != std::errc() || stop != end || source.level < 0)
        throw UsageError(concat("level of \"", word, "\" is not a number; accepted: ", source.name, ":LEVEL"));
    }
    chosen.push_back(std::move(source));
  }
  if (chosen.empty()) throw UsageError("the list of sources is empty; accepted: NAME[:LEVEL],...");
  return chosen;
}

void prepare_sources(std::span<const ChosenSource> chosen, const std::string& command,
                     ProcessEnvironment& environment) {
  std::vector<std::string> preloaded;
  for (const SourceTraits& source : kTable) {
    const bool is_named = std::ranges::find(chosen, source.name, &ChosenSource::name) != chosen.end();
    if (!is_named && (!chosen.empty() || !source.is_default)) continue;
    std::string missing;
    const std::optional<FoundFiles> files = find_files(source, environment, missing);
    if (!files) {
      if (is_named) throw UsageError(concat("source ", source.name, " cannot be used: ", missing));
      continue;
    }
    add_preloads(source, *files, command, environment, preloaded);
    for (const SourceVariable& variable : source.variables) set_variable(variable, *files, environment);
  }
  prepend_preloads(preloaded, environment);
  if (chosen.empty()) return;
  std::vector<std::string> names;
  for (const ChosenSource& source : chosen) names.push_back(source.name);
  environment.set("TUTTI_PROF_SOURCES", join(names, ","));
}

bool preload_mpi_source(const std::string& command, ProcessEnvironment& environment) {
  const SourceTraits& source = *find_source("mpi");
  std::string missing;
  const std::optional<FoundFiles> files = find_files(source, environment, missing);
  if (!files) return false;
  std::vector<std::string> preloaded;
  add_preloads(source, *files, command, environment, preloaded);
  prepend_preloads(preloaded, environment);
  return true;
}

}  // namespace tutti::tools
