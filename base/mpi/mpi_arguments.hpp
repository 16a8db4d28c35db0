#pragma once

#include "base/mpi/pmpi.hpp"

namespace tutti::mpi_table {

/// How the program passes arguments.
enum class Binding : std::uint8_t {
  c,
  large,         ///< C with counts of type MPI_Count
  fortran,       ///< everything by reference, handles as integers
  fortran_2018,  ///< the same with buffers as array descriptors
};

/// The arguments of a call, by position.
class Arguments {
 public:
  Arguments(Binding binding, const Word* words) noexcept : words_(words), binding_(binding) {}

  [[nodiscard]] int integer(int at) const noexcept {
    return is_fortran() ? *pointer<const int>(at) : static_cast<int>(words_[at]);
  }
  [[nodiscard]] std::int64_t count(int at) const noexcept {
    return binding_ == Binding::large ? static_cast<std::int64_t>(words_[at]) : integer(at);
  }
  [[nodiscard]] std::int64_t count(int at, int index) const noexcept {
    if (words_[at] == 0) return 0;
    return binding_ == Binding::large ? pointer<const std::int64_t>(at)[index] : pointer<const int>(at)[index];
  }
  [[nodiscard]] Word communicator(int at) const noexcept {
    return is_fortran() ? communicator_of(integer(at)) : handle_of(words_[at]);
  }
  [[nodiscard]] Word type(int at) const noexcept { return is_fortran() ? type_of(integer(at)) : handle_of(words_[at]); }
  [[nodiscard]] Word type(int at, int index) const noexcept {
    if (words_[at] == 0) return abi().type_null;
    return is_fortran() ? type_of(pointer<const int>(at)[index])
                        : handle_at(words_[at], static_cast<std::size_t>(index));
  }
  [[nodiscard]] Word operation(int at) const noexcept {
    if (!is_fortran()) return handle_of(words_[at]);
    return abi().wide_handles ? pmpi::op_f2c.handle(integer(at)) : static_cast<std::uint32_t>(integer(at));
  }
  /// Address of a buffer.
  [[nodiscard]] void* buffer(int at) const noexcept { return pointer<void>(at); }
  [[nodiscard]] bool is_null(int at) const noexcept { return words_[at] == 0; }
  /// Handles that the function changes or makes; the argument points to them.
  [[nodiscard]] Word communicator_at(int at) const noexcept {
    return is_fortran() ? communicator_of(integer(at)) : handle_at(words_[at]);
  }
  [[nodiscard]] Word type_at(int at) const noexcept {
    return is_fortran() ? type_of(integer(at)) : handle_at(words_[at]);
  }
  /// A request as the program stores it: a handle in C, an integer in Fortran. The argument points to it or them.
  [[nodiscard]] Word raw_request(int at, int index = 0) const noexcept {
    if (words_[at] == 0) return 0;
    if (is_fortran()) return static_cast<std::uint32_t>(pointer<const int>(at)[index]);
    return handle_at(words_[at], static_cast<std::size_t>(index));
  }
  /// The handle of such a request, the same in all languages.
  [[nodiscard]] Word request_of(Word raw) const noexcept {
    return is_fortran() && abi().wide_handles ? pmpi::request_f2c.handle(static_cast<int>(raw)) : raw;
  }
  [[nodiscard]] Word session_at(int at) const noexcept { return is_fortran() ? 0 : handle_at(words_[at]); }
  /// A result of type int, after the call.
  [[nodiscard]] int result(int at) const noexcept { return words_[at] == 0 ? 0 : *pointer<const int>(at); }
  /// Whether a buffer is MPI_IN_PLACE.
  [[nodiscard]] bool is_in_place(int at) const noexcept;

 private:
  template <typename Type>
  [[nodiscard]] Type* pointer(int at) const noexcept {
    return reinterpret_cast<Type*>(words_[at]);
  }
  [[nodiscard]] bool is_fortran() const noexcept {
    return binding_ == Binding::fortran || binding_ == Binding::fortran_2018;
  }
  [[nodiscard]] static Word communicator_of(int fortran) noexcept {
    return abi().wide_handles ? pmpi::comm_f2c.handle(fortran) : static_cast<std::uint32_t>(fortran);
  }
  [[nodiscard]] static Word type_of(int fortran) noexcept {
    return abi().wide_handles ? pmpi::type_f2c.handle(fortran) : static_cast<std::uint32_t>(fortran);
  }

  const Word* words_;
  Binding binding_;
};

}  // namespace tutti::mpi_table
