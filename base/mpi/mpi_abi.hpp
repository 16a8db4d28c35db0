#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::mpi_table {

/// Every argument of an MPI function is an integer, a handle or a pointer and takes one register or stack slot.
using Word = std::uintptr_t;

/// The constants in which the ABIs of MPI differ, as far as interposers need them. Handles are zero-extended words.
struct Abi {
  bool wide_handles;  ///< pointers; false: int
  Word comm_world;
  Word comm_self;
  Word comm_null;
  Word type_null;
  Word in_place;
  int proc_null;
  int root;  ///< MPI_ROOT of inter-communicators
  int graph;
  int cartesian;
  int distributed_graph;
  int status_bytes;   ///< of MPI_Status
  int status_source;  ///< index of MPI_SOURCE in a status, as ints; MPI_TAG follows
};

inline constexpr Abi kMpichAbi = {false, 0x44000000, 0x44000001, 0x04000000, 0x0c000000, ~Word{0}, -1,
                                  -3,    1,          2,          3,          20,         2};
/// The addresses of Open MPI's predefined objects are looked up.
inline constexpr Abi kOpenMpiAbi = {true, 0, 0, 0, 0, 1, -2, -4, 2, 1, 3, 24, 0};
/// The standard ABI of MPI 5.
inline constexpr Abi kStandardAbi = {true, 0x101, 0x102, 0x100, 0x200, 1, -3, -4, 212, 211, 213, 32, 0};

/// The ABI of the process's MPI library. Called only when a function of MPI was called, so that the library is there.
[[nodiscard]] const Abi& abi() noexcept;

/// Address of an object of the MPI library; 0 if it has none. A program that is linked to the library may have a copy
/// of the object, which then stands for it in the whole process.
[[nodiscard]] Word address_of(const char* object) noexcept;

/// A handle as the program passes it: an int handle leaves the upper half of its register undefined.
[[nodiscard]] inline Word handle_of(Word word) noexcept { return abi().wide_handles ? word : word & 0xffffffffU; }
/// The handle that a pointer points to.
[[nodiscard]] inline Word handle_at(Word pointer, std::size_t index = 0) noexcept {
  if (pointer == 0) return 0;
  return abi().wide_handles ? reinterpret_cast<const Word*>(pointer)[index]
                            : reinterpret_cast<const std::uint32_t*>(pointer)[index];
}

}  // namespace tutti::mpi_table
