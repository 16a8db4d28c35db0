#include "mpi_types.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tutti/spi/kernels.hpp"

namespace tutti::mpi {
namespace {

/// Callback for MPI_Op_create: inout = in (+) inout, where `in` is from the lower rank.
template <Reduction kReduction, DataType kType>
void combine(void* in, void* inout, int* length, MPI_Datatype*) {
  void* const outputs[] = {inout};
  const void* const inputs[] = {in, inout};
  spi::reduce_kernel(kReduction, kType)(outputs, 1, inputs, 2, static_cast<std::size_t>(*length), {});
}

template <std::size_t... kPairs>
constexpr std::array<MPI_User_function*, sizeof...(kPairs)> functions_of(std::index_sequence<kPairs...>) {
  return {&combine<static_cast<Reduction>(kPairs / kDataTypeCount), static_cast<DataType>(kPairs % kDataTypeCount)>...};
}

/// Indexed by reduction, then by type. Pairs that is_defined() rejects are never used.
constexpr auto kFunctions = functions_of(std::make_index_sequence<kReductionCount * kDataTypeCount>());

// More than a vector register of bytes, and not a multiple of one.
constexpr std::size_t kSamples = 131;
using Sample = std::array<std::uint64_t, kSamples>;  // room for the widest type

/// Integers that use all bits, with some zeros; floats that are small whole numbers, so that results are exact in any
/// order.
Sample make_sample(DataType type, std::uint32_t seed) {
  Sample sample = {};
  auto* bytes = reinterpret_cast<std::byte*>(sample.data());
  for (std::size_t index = 0; index < kSamples; ++index) {
    seed = seed * 1664525u + 1013904223u;
    const std::uint64_t bits = index % 7 == 0 ? 0 : (static_cast<std::uint64_t>(seed) << 32) | (seed >> 3);
    visit(type, [&]<typename T>(T*) {
      T value;
      if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(bits >> (64 - 8 * sizeof(T)));
      } else {
        value = T(static_cast<float>(static_cast<int>(seed >> 29) - 4));
      }
      std::memcpy(bytes + index * sizeof(T), &value, sizeof(T));
    });
  }
  return sample;
}

bool is_right(const Api& api, MPI_Op operation, MPI_Datatype datatype, Reduction reduction, DataType type) {
  const Sample in = make_sample(type, 1);
  Sample theirs = make_sample(type, 2);
  Sample ours = theirs;
  if (api.reduce_local(in.data(), theirs.data(), static_cast<int>(kSamples), datatype, operation) != MPI_SUCCESS)
    return false;
  void* const outputs[] = {ours.data()};
  const void* const inputs[] = {in.data(), ours.data()};
  spi::reduce_kernel(reduction, type)(outputs, 1, inputs, 2, kSamples, {});
  return ours == theirs;
}

}  // namespace

void Types::add(const Api& api, Reduction reduction, MPI_Op theirs) {
  for (DataType type : kDataTypes) {
    if (!is_combined(reduction, type)) continue;
    const auto row = static_cast<std::size_t>(reduction);
    const auto column = static_cast<std::size_t>(type);
    operations_[row][column] = theirs;
    if (!is_never_theirs(reduction, type) && is_right(api, theirs, datatype(type), reduction, type)) continue;
    own_[row][column] = true;
    constexpr int kCommutative = 1;
    check(api, api.op_create(kFunctions[row * kDataTypeCount + column], kCommutative, &operations_[row][column]),
          "creating an MPI reduction");
  }
}

Types::Types(const Api& api, const SymbolLookup& lookup) {
  const auto type = [&](auto name) { return predefined_handle<MPI_Datatype>(lookup, name); };
  const auto operation = [&](auto name) { return predefined_handle<MPI_Op>(lookup, name); };

  datatypes_ = {
      type(TUTTI_MPI_HANDLE(ompi_mpi_int8_t, MPI_INT8_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_int16_t, MPI_INT16_T)),
      type(TUTTI_MPI_HANDLE(ompi_mpi_int32_t, MPI_INT32_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_int64_t, MPI_INT64_T)),
      type(TUTTI_MPI_HANDLE(ompi_mpi_uint8_t, MPI_UINT8_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_uint16_t, MPI_UINT16_T)),
      type(TUTTI_MPI_HANDLE(ompi_mpi_uint32_t, MPI_UINT32_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_uint64_t, MPI_UINT64_T)),
      // float16 and bfloat16 travel as 16 bits; only tutti's own operations interpret them.
      type(TUTTI_MPI_HANDLE(ompi_mpi_uint16_t, MPI_UINT16_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_uint16_t, MPI_UINT16_T)),
      type(TUTTI_MPI_HANDLE(ompi_mpi_float, MPI_FLOAT)), type(TUTTI_MPI_HANDLE(ompi_mpi_double, MPI_DOUBLE)),
      // 8-bit floats are only moved.
      type(TUTTI_MPI_HANDLE(ompi_mpi_uint8_t, MPI_UINT8_T)), type(TUTTI_MPI_HANDLE(ompi_mpi_uint8_t, MPI_UINT8_T))};

  add(api, Reduction::sum, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_sum, MPI_SUM)));
  add(api, Reduction::product, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_prod, MPI_PROD)));
  add(api, Reduction::min, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_min, MPI_MIN)));
  add(api, Reduction::max, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_max, MPI_MAX)));
  add(api, Reduction::bit_and, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_band, MPI_BAND)));
  add(api, Reduction::bit_or, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_bor, MPI_BOR)));
  add(api, Reduction::bit_xor, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_bxor, MPI_BXOR)));
  add(api, Reduction::logical_and, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_land, MPI_LAND)));
  add(api, Reduction::logical_or, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_lor, MPI_LOR)));
  add(api, Reduction::logical_xor, operation(TUTTI_MPI_HANDLE(ompi_mpi_op_lxor, MPI_LXOR)));
}

std::string error_text(const Api& api, int code) {
  // Libraries of one ABI differ in MPI_MAX_ERROR_STRING, and the header has the value of only one of them.
  std::array<char, std::max(MPI_MAX_ERROR_STRING, 2048)> text = {};
  int length = 0;
  if (api.error_string(code, text.data(), &length) != MPI_SUCCESS) return "MPI error " + std::to_string(code);
  return text.data();
}

void check(const Api& api, int code, const std::string& what) {
  if (code == MPI_SUCCESS) return;
  throw Error(ErrorCode::backend_failure, what + " (mpi): " + error_text(api, code), "mpi", code);
}

}  // namespace tutti::mpi
