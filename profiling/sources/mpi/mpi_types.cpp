#include "mpi/mpi_types.hpp"

#include <array>

#include "base/mpi/handle_table.hpp"
#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

namespace {

struct Name {
  std::string_view mpi;
  std::string_view own;
};
constexpr std::array kNames = {
    Name{"", ""},
    Name{"MPI_CHAR", "int8"},
    Name{"MPI_SIGNED_CHAR", "int8"},
    Name{"MPI_INT8_T", "int8"},
    Name{"MPI_BYTE", "uint8"},
    Name{"MPI_UNSIGNED_CHAR", "uint8"},
    Name{"MPI_UINT8_T", "uint8"},
    Name{"MPI_SHORT", "int16"},
    Name{"MPI_INT16_T", "int16"},
    Name{"MPI_UNSIGNED_SHORT", "uint16"},
    Name{"MPI_UINT16_T", "uint16"},
    Name{"MPI_INT", "int32"},
    Name{"MPI_INT32_T", "int32"},
    Name{"MPI_INTEGER", "int32"},
    Name{"MPI_UNSIGNED", "uint32"},
    Name{"MPI_UINT32_T", "uint32"},
    Name{"MPI_LONG", "int64"},
    Name{"MPI_LONG_LONG", "int64"},
    Name{"MPI_LONG_LONG_INT", "int64"},
    Name{"MPI_INT64_T", "int64"},
    Name{"MPI_INTEGER8", "int64"},
    Name{"MPI_UNSIGNED_LONG", "uint64"},
    Name{"MPI_UNSIGNED_LONG_LONG", "uint64"},
    Name{"MPI_UINT64_T", "uint64"},
    Name{"MPI_FLOAT", "float32"},
    Name{"MPI_REAL", "float32"},
    Name{"MPI_REAL4", "float32"},
    Name{"MPI_DOUBLE", "float64"},
    Name{"MPI_DOUBLE_PRECISION", "float64"},
    Name{"MPI_REAL8", "float64"},
};

constexpr unsigned kNameBits = 8;
constinit HandleTable<4096> known;

TypeFacts ask(Word type) noexcept {
  std::int64_t size = 0;
  if (!pmpi::type_size_x(type, &size) || size < 0) return {};
  char text[512] = {};
  int length = 0;
  TypeFacts facts{size, 0};
  if (pmpi::type_get_name(type, text, &length)) {
    const std::string_view name = text;
    for (std::uint8_t index = 1; index < kNames.size(); ++index)
      if (kNames[index].mpi == name) facts.name = index;
  }
  return facts;
}

}  // namespace

std::string_view type_name(std::uint8_t name) noexcept { return kNames[name].own; }

TypeFacts type_facts(Word type) noexcept {
  if (type == 0 || type == abi().type_null) return {};
  if (const auto value = known.find(type))
    return {static_cast<std::int64_t>(*value >> kNameBits),
            static_cast<std::uint8_t>(*value & ((1U << kNameBits) - 1))};
  const TypeFacts facts = ask(type);
  // A larger size than the rest of the word holds is asked for each time.
  if (facts.size < std::int64_t{1} << 55) known.insert(type, static_cast<Word>(facts.size) << kNameBits | facts.name);
  return facts;
}

void forget_type(Word type) noexcept { known.erase(type); }

}  // namespace tutti::profiling::mpi
