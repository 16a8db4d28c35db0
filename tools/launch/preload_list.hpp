#pragma once

#include <string>
#include <vector>

#include "launch/process.hpp"

/// Libraries that are brought into programs by LD_PRELOAD.
namespace tutti::tools {

/// Folder of the modules, beside the library of tutti that this command uses; empty if it is not known.
[[nodiscard]] std::string module_folder();

/// Puts the libraries in front of those that the user preloads: a tool of the user that wraps MPI calls the functions
/// behind it by other names (PMPI_*), so that a library behind the tool would see nothing. Only the runtimes of
/// sanitizers stay in front, because they refuse any other place.
void prepend_preloads(const std::vector<std::string>& libraries, ProcessEnvironment& environment);

/// The MPI library of the launcher that `command` is, found in `path` (the value of PATH), or that started this
/// process; empty if it is not known.
[[nodiscard]] std::string mpi_library_of_job(const std::string& command, const std::string& path);

}  // namespace tutti::tools
