#include "base/mpi/mpi_arguments.hpp"

namespace tutti::mpi_table {

namespace {

// Addresses by which Fortran programs say MPI_IN_PLACE: common blocks, which the program and the MPI library share.
struct FortranInPlace {
  Word open_mpi;
  Word mpich_2008;
  const Word* mpich;  // holds the address, since MPI_Init

  FortranInPlace() noexcept
      : open_mpi(address_of("mpi_fortran_in_place_")),
        mpich_2008(address_of("MPIR_F08_MPI_IN_PLACE")),
        mpich(reinterpret_cast<const Word*>(address_of("MPIR_F_MPI_IN_PLACE"))) {}
};

}  // namespace

bool Arguments::is_in_place(int at) const noexcept {
  Word buffer = words_[at];
  if (!is_fortran()) return buffer == abi().in_place;
  // The address is the first member of an array descriptor.
  if (binding_ == Binding::fortran_2018 && buffer != 0) buffer = *reinterpret_cast<const Word*>(buffer);
  if (buffer == 0) return false;
  static const FortranInPlace known;
  return buffer == known.open_mpi || buffer == known.mpich_2008 || (known.mpich != nullptr && buffer == *known.mpich);
}

}  // namespace tutti::mpi_table
