#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "launch/mpi_launch.hpp"

/// Finds and opens libmpi. Nothing here starts MPI.
namespace tutti::mpi {

/// The text of MPI_Get_library_version, parsed.
struct LibraryIdentity {
  std::optional<Abi> abi;  ///< nothing: an unknown library
  std::string version;     ///< "Open MPI 4.1.4", "MPICH 4.0.2", "Intel MPI 2021.18"
  std::string product;     ///< the word for it in a spec: "openmpi", "mpich" or "intel"; empty: an unknown library
};

[[nodiscard]] LibraryIdentity identify_library(std::string_view version_text);

/// An opened library, or the reason why none could be opened.
struct Library {
  void* handle = nullptr;  ///< null: see `failure`
  std::string version;
  std::string product;  ///< as in LibraryIdentity
  std::string origin;   ///< its file or name, or "the program"
  std::string failure;  ///< a whole sentence

  /// Address of a symbol: the program's if the program has one, else the library's. A program that refers to a variable
  /// of a shared library has a copy of it (copy relocation), which the library uses too, while dlsym() on the library's
  /// handle still finds the original.
  [[nodiscard]] void* find(const char* symbol) const;
};

/// Opens the library of this ABI: the one already loaded in the process, else the file that `setting`
/// (TUTTI_MPI_LIBRARY) names, else the first of library_candidates() that has this ABI. The library is never closed.
/// Throws nothing but std::bad_alloc.
[[nodiscard]] Library open_library(Abi abi, const std::string& setting, const EnvironmentLookup& environment);

/// Whether a library of this ABI is loaded in the process and MPI_Init was called on it. Opens nothing.
[[nodiscard]] bool is_initialized_in_process(Abi abi);

}  // namespace tutti::mpi
