#include "mpi_handles.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "base/mpi/handle_table.hpp"

namespace tutti::adapters::mpi {
namespace {

struct TypeRow {
  const char* name;      ///< without MPI_
  const char* open_mpi;  ///< its object
  Word mpich;
  PredefinedType type;
};

template <typename T>
constexpr DataType number_of() {
  if constexpr (std::is_same_v<T, float>) return DataType::float32;
  if constexpr (std::is_same_v<T, double>) return DataType::float64;
  if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? DataType::int8 : DataType::uint8;
  if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? DataType::int16 : DataType::uint16;
  if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? DataType::int32 : DataType::uint32;
  return std::is_signed_v<T> ? DataType::int64 : DataType::uint64;
}
template <typename T>
constexpr PredefinedType type(TypeClass type_class) {
  return {sizeof(T), type_class, number_of<T>()};
}
constexpr PredefinedType opaque(std::uint32_t bytes) { return {bytes, TypeClass::opaque, DataType::uint8}; }

constexpr auto kInteger = TypeClass::integer;
constexpr auto kIndex = TypeClass::index;
constexpr auto kReal = TypeClass::real;

// Signed and unsigned types of C, the types of Fortran that are the same numbers, and types that are only moved. A type
// that is absent here is moved by MPI's own pack and unpack.
constexpr std::array kTypes = {
    TypeRow{"SIGNED_CHAR", "ompi_mpi_signed_char", 0x4c000118, type<signed char>(kInteger)},
    TypeRow{"UNSIGNED_CHAR", "ompi_mpi_unsigned_char", 0x4c000102, type<unsigned char>(kInteger)},
    TypeRow{"SHORT", "ompi_mpi_short", 0x4c000203, type<short>(kInteger)},
    TypeRow{"UNSIGNED_SHORT", "ompi_mpi_unsigned_short", 0x4c000204, type<unsigned short>(kInteger)},
    TypeRow{"INT", "ompi_mpi_int", 0x4c000405, type<int>(kInteger)},
    TypeRow{"UNSIGNED", "ompi_mpi_unsigned", 0x4c000406, type<unsigned>(kInteger)},
    TypeRow{"LONG", "ompi_mpi_long", 0x4c000807, type<long>(kInteger)},
    TypeRow{"UNSIGNED_LONG", "ompi_mpi_unsigned_long", 0x4c000808, type<unsigned long>(kInteger)},
    TypeRow{"LONG_LONG", "ompi_mpi_long_long_int", 0x4c000809, type<long long>(kInteger)},
    TypeRow{"UNSIGNED_LONG_LONG", "ompi_mpi_unsigned_long_long", 0x4c000819, type<unsigned long long>(kInteger)},
    TypeRow{"INT8_T", "ompi_mpi_int8_t", 0x4c000137, type<std::int8_t>(kInteger)},
    TypeRow{"INT16_T", "ompi_mpi_int16_t", 0x4c000238, type<std::int16_t>(kInteger)},
    TypeRow{"INT32_T", "ompi_mpi_int32_t", 0x4c000439, type<std::int32_t>(kInteger)},
    TypeRow{"INT64_T", "ompi_mpi_int64_t", 0x4c00083a, type<std::int64_t>(kInteger)},
    TypeRow{"UINT8_T", "ompi_mpi_uint8_t", 0x4c00013b, type<std::uint8_t>(kInteger)},
    TypeRow{"UINT16_T", "ompi_mpi_uint16_t", 0x4c00023c, type<std::uint16_t>(kInteger)},
    TypeRow{"UINT32_T", "ompi_mpi_uint32_t", 0x4c00043d, type<std::uint32_t>(kInteger)},
    TypeRow{"UINT64_T", "ompi_mpi_uint64_t", 0x4c00083e, type<std::uint64_t>(kInteger)},
    TypeRow{"FLOAT", "ompi_mpi_float", 0x4c00040a, type<float>(kReal)},
    TypeRow{"DOUBLE", "ompi_mpi_double", 0x4c00080b, type<double>(kReal)},
    TypeRow{"AINT", "ompi_mpi_aint", 0x4c000843, type<std::int64_t>(kIndex)},
    TypeRow{"OFFSET", "ompi_mpi_offset", 0x4c000844, type<std::int64_t>(kIndex)},
    TypeRow{"COUNT", "ompi_mpi_count", 0x4c000845, type<std::int64_t>(kIndex)},
    TypeRow{"INTEGER", "ompi_mpi_integer", 0x4c00041b, type<std::int32_t>(kIndex)},
    TypeRow{"INTEGER8", "ompi_mpi_integer8", 0x4c000831, type<std::int64_t>(kIndex)},
    TypeRow{"REAL", "ompi_mpi_real", 0x4c00041c, type<float>(kReal)},
    TypeRow{"REAL4", "ompi_mpi_real4", 0x4c000427, type<float>(kReal)},
    TypeRow{"REAL8", "ompi_mpi_real8", 0x4c000829, type<double>(kReal)},
    TypeRow{"DOUBLE_PRECISION", "ompi_mpi_dblprec", 0x4c00081f, type<double>(kReal)},
    TypeRow{"BYTE", "ompi_mpi_byte", 0x4c00010d, type<std::uint8_t>(TypeClass::bits)},
    TypeRow{"C_BOOL", "ompi_mpi_c_bool", 0x4c00013f, type<std::uint8_t>(TypeClass::logical)},
    TypeRow{"CHAR", "ompi_mpi_char", 0x4c000101, opaque(1)},
    TypeRow{"CHARACTER", "ompi_mpi_character", 0x4c00011a, opaque(1)},
    TypeRow{"PACKED", "ompi_mpi_packed", 0x4c00010f, opaque(1)},
    TypeRow{"WCHAR", "ompi_mpi_wchar", 0x4c00040e, opaque(sizeof(wchar_t))},
    TypeRow{"LONG_DOUBLE", "ompi_mpi_long_double", 0x4c00100c, opaque(sizeof(long double))},
    TypeRow{"LOGICAL", "ompi_mpi_logical", 0x4c00041d, opaque(4)},
    TypeRow{"C_FLOAT_COMPLEX", "ompi_mpi_c_float_complex", 0x4c000840, opaque(8)},
    TypeRow{"C_DOUBLE_COMPLEX", "ompi_mpi_c_double_complex", 0x4c001041, opaque(16)},
    TypeRow{"COMPLEX", "ompi_mpi_cplex", 0x4c00081e, opaque(8)},
    TypeRow{"DOUBLE_COMPLEX", "ompi_mpi_dblcplex", 0x4c001022, opaque(16)},
};

struct OperationRow {
  const char* open_mpi;
  Word mpich;
  Reduction reduction;
};
constexpr std::array kOperations = {
#define TUTTI_MPI_OPERATION(open_mpi, mpich, reduction) OperationRow{open_mpi, mpich, Reduction::reduction},
#include "base/mpi/mpi_operations.def"
};

constinit mpi_table::HandleTable<256> types;
constinit mpi_table::HandleTable<64> operations;

// A type with a copy relocation has its address in the program, as address_of() finds it.
Word handle_of_object(const char* open_mpi, Word mpich) noexcept {
  return mpi_table::abi().wide_handles ? mpi_table::address_of(open_mpi) : mpich;
}
Word handle_of_type(std::string_view name) noexcept {
  for (const TypeRow& row : kTypes)
    if (row.name == name) return handle_of_object(row.open_mpi, row.mpich);
  return 0;
}

}  // namespace

void learn_handles() noexcept {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    (void)types.insert(handle_of_object(kTypes[i].open_mpi, kTypes[i].mpich), i);
  for (std::size_t i = 0; i < kOperations.size(); ++i)
    (void)operations.insert(handle_of_object(kOperations[i].open_mpi, kOperations[i].mpich), i);
}

PredefinedType predefined_type(Word handle) noexcept {
  const auto found = types.find(handle);
  return found ? kTypes[*found].type : PredefinedType{};
}

std::optional<Reduction> predefined_reduction(Word handle) noexcept {
  const auto found = operations.find(handle);
  if (!found) return std::nullopt;
  return kOperations[*found].reduction;
}

bool is_defined(Reduction reduction, TypeClass type_class) noexcept {
  switch (reduction) {
    case Reduction::sum:
    case Reduction::product:
    case Reduction::min:
    case Reduction::max:
      return type_class == kInteger || type_class == kIndex || type_class == kReal;
    case Reduction::bit_and:
    case Reduction::bit_or:
    case Reduction::bit_xor:
      return type_class == kInteger || type_class == kIndex || type_class == TypeClass::bits;
    case Reduction::logical_and:
    case Reduction::logical_or:
    case Reduction::logical_xor:
      return type_class == kInteger || type_class == TypeClass::logical;
    case Reduction::average:
      break;
  }
  return false;
}

Word byte_type() noexcept {
  static const Word handle = handle_of_type("BYTE");
  return handle;
}
Word int_type() noexcept {
  static const Word handle = handle_of_type("INT");
  return handle;
}
Word minimum() noexcept {
  static const Word handle = handle_of_object("ompi_mpi_op_min", 0x58000002);
  return handle;
}

}  // namespace tutti::adapters::mpi
