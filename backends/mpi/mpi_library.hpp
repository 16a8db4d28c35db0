#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mpi_launch.hpp"

/// Finding and opening libmpi. Nothing here starts MPI.
namespace tutti::mpi {

/// What MPI_Get_library_version says, understood.
struct LibraryIdentity {
  std::optional<Abi> abi;  ///< nothing: a library we do not know
  std::string version;     ///< "Open MPI 4.1.4", "MPICH 4.0.2", "Intel MPI 2021.18"
};

[[nodiscard]] LibraryIdentity identify_library(std::string_view version_text);

/// A library that was opened, or the reason why there is none.
struct Library {
  void* handle = nullptr;  ///< null: see `failure`
  std::string version;
  std::string origin;   ///< its file or name, or "the program"
  std::string failure;  ///< a whole sentence

  /// A symbol as the program sees it, if it is bound to this library. A program that refers to a variable of a shared
  /// library has a copy of it, which the library then uses too, while dlsym() on the library's handle still finds the
  /// original.
  [[nodiscard]] void* find(const char* symbol) const;
};

/// Opens the library of this ABI: the one that is in the process already, else the one `setting` (TUTTI_MPI_LIBRARY)
/// names, else the first of library_candidates() that is of this ABI. Never closed again. Throws nothing but
/// std::bad_alloc.
[[nodiscard]] Library open_library(Abi abi, const std::string& setting, const EnvironmentLookup& environment);

/// Whether a library of this ABI is in the process and MPI_Init was called on it. Opens nothing.
[[nodiscard]] bool is_initialized_in_process(Abi abi);

}  // namespace tutti::mpi
