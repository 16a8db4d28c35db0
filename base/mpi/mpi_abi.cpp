#include "base/mpi/mpi_abi.hpp"

#include <cerrno>
#include <cstring>

#include "base/mpi/pmpi.hpp"

namespace tutti::mpi_table {

namespace {

Abi detect() noexcept {
  if (const Word world = address_of("ompi_mpi_comm_world"); world != 0) {
    Abi found = kOpenMpiAbi;
    found.comm_world = world;
    found.comm_self = address_of("ompi_mpi_comm_self");
    found.comm_null = address_of("ompi_mpi_comm_null");
    found.type_null = address_of("ompi_mpi_datatype_null");
    return found;
  }
  // MPI libraries with int handles may offer the functions of the standard ABI too; only its own library has its
  // handles.
  Dl_info library{};
  void* init = interpose::detail::find_definition("PMPI_Init", &pmpi::initialized, nullptr);
  if (init != nullptr && dladdr(init, &library) != 0 && std::strstr(library.dli_fname, "libmpi_abi") != nullptr)
    return kStandardAbi;
  return kMpichAbi;
}

}  // namespace

Word address_of(const char* object) noexcept {
  const int saved_errno = errno;
  void* found = dlsym(RTLD_DEFAULT, object);
  if (found == nullptr) found = interpose::detail::find_definition(object, &pmpi::initialized, nullptr);
  (void)dlerror();
  errno = saved_errno;
  return reinterpret_cast<Word>(found);
}

const Abi& abi() noexcept {
  static const Abi found = detect();
  return found;
}

}  // namespace tutti::mpi_table
