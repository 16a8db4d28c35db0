#include "raise.hpp"

#include <array>
#include <cstdio>

#include "adapter.hpp"
#include "base/mpi/pmpi.hpp"

namespace tutti::adapters::mpi {
namespace {

using mpi_table::Pmpi;

constinit Pmpi add_error_class{"PMPI_Add_error_class"};
constinit Pmpi add_error_code{"PMPI_Add_error_code"};
constinit Pmpi add_error_string{"PMPI_Add_error_string"};
constinit RealFunction<int (*)(Word, int)> call_error_handler{"PMPI_Comm_call_errhandler"};

}  // namespace

int error_code(const char* text) noexcept {
  static const int code = [] {
    int error_class = 0;
    int made = 0;
    return add_error_class(&error_class) && add_error_code(error_class, &made) ? made : kNoFunction;
  }();
  // MPI_MAX_ERROR_STRING is at least 256.
  std::array<char, 256> line{};
  std::snprintf(line.data(), line.size(), "tutti: %s", text);
  if (code != kNoFunction) (void)add_error_string(code, line.data());
  return code;
}

int raise(Word comm, const char* text) noexcept {
  const int code = error_code(text);
  const auto handler = call_error_handler.get();
  if (handler != nullptr) (void)handler(comm, code);
  return code;
}

}  // namespace tutti::adapters::mpi
