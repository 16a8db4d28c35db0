#pragma once

#include <string>

namespace tutti::profiling {

/// The name of a kernel as its source has it: C++ names are demangled, names of OpenMP regions are reduced to their
/// function and line ("_Z4axpyv_l12" in "__omp_offloading_10_2f_..." gives "axpy()_l12"). Other names stay.
[[nodiscard]] std::string kernel_name(const std::string& name);

}  // namespace tutti::profiling
