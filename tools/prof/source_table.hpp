#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/process.hpp"

/// The sources of a profiling session, and the variables that bring each into a program.
namespace tutti::tools {

/// Placement of a value in a variable that may be set already.
enum class Placement : std::uint8_t {
  replace,          ///< instead of the value before
  if_absent,        ///< only if the variable is not set
  first_of_commas,  ///< in front of the elements of a list with commas
  last_of_commas,   ///< behind them
};

struct SourceVariable {
  std::string_view name;
  std::string_view value;  ///< "@library": the source's file; "@needs": the file that it needs
  Placement placement = Placement::replace;
};

/// A row of the table.
struct SourceTraits {
  std::string_view name;     ///< as for -b
  std::string_view title;    ///< of its table
  std::string_view library;  ///< file in the folder of modules
  bool is_preloaded = false;
  bool is_default = true;       ///< without -b
  std::string_view needs = {};  ///< a library of the vendor, looked for in its usual folders; empty: none
  std::span<const SourceVariable> variables = {};
  /// Optional: names of the files to preload for a command, instead of `library`.
  std::vector<std::string> (*preloads)(const std::string& command, const std::string& path) = nullptr;
};

[[nodiscard]] std::span<const SourceTraits> source_table();

/// A source that a user names, and the level of its table; -1: its own.
struct ChosenSource {
  std::string name;
  int level = -1;
};

/// Parses "mpi,ze:2". Throws UsageError that lists the sources.
[[nodiscard]] std::vector<ChosenSource> parse_sources(std::string_view text);

/// Adds to `environment` what the chosen sources need for `command`; without a choice all default sources that this
/// installation has. Throws UsageError that names the folders for a chosen source whose file is absent.
void prepare_sources(std::span<const ChosenSource> chosen, const std::string& command, ProcessEnvironment& environment);

/// Brings the source of MPI calls into `command`, for `tutti record`. False if this installation lacks it.
bool preload_mpi_source(const std::string& command, ProcessEnvironment& environment);

}  // namespace tutti::tools
