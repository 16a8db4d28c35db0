#pragma once

#include <array>

#include "tutti/spi/launcher.hpp"

/// The launchers of the MPI libraries, as `tutti run` and `tutti sweep` call them on one host. Does not use mpi.h.
namespace tutti::mpi {

/// Launcher of the libraries with the ABI of Open MPI.
extern const std::array<spi::Launcher, 1> kOpenMpiLaunchers;

/// Launchers of the libraries with the ABI of MPICH: MPICH and Intel MPI.
extern const std::array<spi::Launcher, 2> kMpichLaunchers;

}  // namespace tutti::mpi
