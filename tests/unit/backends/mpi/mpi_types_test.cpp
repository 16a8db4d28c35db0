#include "mpi_types.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "mpi_backend.hpp"
#include "tutti/spi/kernels.hpp"

// A fake MPI library: the function table points to the functions of this file, which record their calls.
namespace tutti::mpi {
namespace {

struct FakeLibrary {
  std::vector<MPI_User_function*> created;
  bool compares_unsigned_as_signed = false;
} fake;

/// A distinct address for each name; the handles of Open MPI are addresses.
void* symbol(const char* name) {
  static std::set<std::string> names;
  return const_cast<char*>(names.insert(name).first->c_str());
}

template <typename Handle>
Handle handle(const char* open_mpi, Handle mpich) {
#if defined(OPEN_MPI)
  (void)mpich;
  return static_cast<Handle>(symbol(open_mpi));
#else
  (void)open_mpi;
  return mpich;
#endif
}
#if defined(OPEN_MPI)
#define HANDLE(type, open_mpi, mpich) handle<type>(#open_mpi, nullptr)
#else
#define HANDLE(type, open_mpi, mpich) handle<type>(#open_mpi, mpich)
#endif

int fake_op_create(MPI_User_function* function, int, MPI_Op* operation) {
  fake.created.push_back(function);
#if defined(OPEN_MPI)
  *operation = static_cast<MPI_Op>(symbol(("own" + std::to_string(fake.created.size())).c_str()));
#else
  *operation = static_cast<MPI_Op>(fake.created.size());
#endif
  return MPI_SUCCESS;
}

int fake_reduce_local(const void* in, void* inout, int count, MPI_Datatype datatype, MPI_Op operation) {
  const std::pair<MPI_Datatype, DataType> types[] = {
      {HANDLE(MPI_Datatype, ompi_mpi_int8_t, MPI_INT8_T), DataType::int8},
      {HANDLE(MPI_Datatype, ompi_mpi_int16_t, MPI_INT16_T), DataType::int16},
      {HANDLE(MPI_Datatype, ompi_mpi_int32_t, MPI_INT32_T), DataType::int32},
      {HANDLE(MPI_Datatype, ompi_mpi_int64_t, MPI_INT64_T), DataType::int64},
      {HANDLE(MPI_Datatype, ompi_mpi_uint8_t, MPI_UINT8_T), DataType::uint8},
      {HANDLE(MPI_Datatype, ompi_mpi_uint16_t, MPI_UINT16_T), DataType::uint16},
      {HANDLE(MPI_Datatype, ompi_mpi_uint32_t, MPI_UINT32_T), DataType::uint32},
      {HANDLE(MPI_Datatype, ompi_mpi_uint64_t, MPI_UINT64_T), DataType::uint64},
      {HANDLE(MPI_Datatype, ompi_mpi_float, MPI_FLOAT), DataType::float32},
      {HANDLE(MPI_Datatype, ompi_mpi_double, MPI_DOUBLE), DataType::float64}};
  const std::pair<MPI_Op, Reduction> operations[] = {
      {HANDLE(MPI_Op, ompi_mpi_op_sum, MPI_SUM), Reduction::sum},
      {HANDLE(MPI_Op, ompi_mpi_op_prod, MPI_PROD), Reduction::product},
      {HANDLE(MPI_Op, ompi_mpi_op_min, MPI_MIN), Reduction::min},
      {HANDLE(MPI_Op, ompi_mpi_op_max, MPI_MAX), Reduction::max},
      {HANDLE(MPI_Op, ompi_mpi_op_band, MPI_BAND), Reduction::bit_and},
      {HANDLE(MPI_Op, ompi_mpi_op_bor, MPI_BOR), Reduction::bit_or},
      {HANDLE(MPI_Op, ompi_mpi_op_bxor, MPI_BXOR), Reduction::bit_xor},
      {HANDLE(MPI_Op, ompi_mpi_op_land, MPI_LAND), Reduction::logical_and},
      {HANDLE(MPI_Op, ompi_mpi_op_lor, MPI_LOR), Reduction::logical_or},
      {HANDLE(MPI_Op, ompi_mpi_op_lxor, MPI_LXOR), Reduction::logical_xor}};
  const auto* type = std::find_if(std::begin(types), std::end(types), [&](auto& row) { return row.first == datatype; });
  const auto* what =
      std::find_if(std::begin(operations), std::end(operations), [&](auto& row) { return row.first == operation; });
  if (type == std::end(types) || what == std::end(operations)) return MPI_ERR_OP;
  DataType as = type->second;
  const bool compares = what->second == Reduction::min || what->second == Reduction::max;
  if (fake.compares_unsigned_as_signed && compares && as >= DataType::uint8 && as <= DataType::uint64) {
    as = static_cast<DataType>(static_cast<int>(as) - static_cast<int>(DataType::uint8));
  }
  void* const outputs[] = {inout};
  const void* const inputs[] = {in, inout};
  spi::reduce_kernel(what->second, as)(outputs, 1, inputs, 2, static_cast<std::size_t>(count), {});
  return MPI_SUCCESS;
}

int fake_error_string(int code, char* text, int* length) {
  std::strcpy(text, code == 15 ? "message truncated" : "something");
  *length = static_cast<int>(std::strlen(text));
  return MPI_SUCCESS;
}

class MpiTypes : public testing::Test {
 protected:
  void SetUp() override {
    fake = {};
    api_.op_create.set(&fake_op_create);
    api_.reduce_local.set(&fake_reduce_local);
    api_.error_string.set(&fake_error_string);
  }
  Api api_;
};

TEST_F(MpiTypes, ARightLibraryKeepsItsOwnReductions) {
  const Types types(api_, symbol);
  for (Reduction reduction : kReductions) {
    for (DataType type : kDataTypes) {
      if (reduction == Reduction::average || !is_combined(reduction, type)) continue;
      EXPECT_EQ(types.is_own(reduction, type), is_never_theirs(reduction, type))
          << name(reduction) << " " << name(type);
    }
  }
  EXPECT_EQ(fake.created.size(), kAbi == Abi::openmpi ? 12u : 8u);
}

TEST_F(MpiTypes, AWrongReductionIsReplaced) {
  fake.compares_unsigned_as_signed = true;
  const Types types(api_, symbol);
  for (DataType type : {DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64}) {
    EXPECT_TRUE(types.is_own(Reduction::min, type)) << name(type);
    EXPECT_TRUE(types.is_own(Reduction::max, type)) << name(type);
    EXPECT_FALSE(types.is_own(Reduction::bit_or, type)) << name(type);
  }
  EXPECT_FALSE(types.is_own(Reduction::min, DataType::int32));
}

TEST_F(MpiTypes, OurOwnFunctionsCombineInRankOrder) {
  const Types types(api_, symbol);
  ASSERT_FALSE(fake.created.empty());
  // The last function created is max of bfloat16: functions are created in order of reduction, then type.
  bfloat16 in[] = {bfloat16(1.0F), bfloat16(-3.0F)};
  bfloat16 inout[] = {bfloat16(2.0F), bfloat16(-4.0F)};
  int length = 2;
  MPI_Datatype datatype = types.datatype(DataType::bfloat16);
  fake.created.back()(in, inout, &length, &datatype);
  EXPECT_EQ(static_cast<float>(inout[0]), 2.0F);
  EXPECT_EQ(static_cast<float>(inout[1]), -3.0F);
}

TEST_F(MpiTypes, SixteenBitFloatsTravelAsSixteenBits) {
  const Types types(api_, symbol);
  EXPECT_EQ(types.datatype(DataType::float16), types.datatype(DataType::uint16));
  EXPECT_EQ(types.datatype(DataType::bfloat16), types.datatype(DataType::uint16));
  EXPECT_NE(types.datatype(DataType::float32), types.datatype(DataType::uint32));
  EXPECT_EQ(types.datatype(DataType::float8_e4m3), types.datatype(DataType::uint8));
  EXPECT_EQ(types.datatype(DataType::float8_e5m2), types.datatype(DataType::uint8));
}

TEST_F(MpiTypes, AnErrorCarriesMpisWordsAndCode) {
  EXPECT_NO_THROW(check(api_, MPI_SUCCESS, "anything"));
  try {
    check(api_, 15, "receiving");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::backend_failure);
    EXPECT_EQ(error.vendor_code(), 15);
    EXPECT_EQ(error.backend(), "mpi");
    EXPECT_STREQ(error.what(), "receiving (mpi): message truncated");
  }
}

TEST(MpiApi, AMissingFunctionIsNamed) {
  try {
    const Api api(
        [](const char* name) -> void* { return std::string_view(name) == "MPI_Ireduce" ? nullptr : symbol(name); });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::backend_unavailable);
    EXPECT_NE(std::string_view(error.what()).find("MPI_Ireduce"), std::string_view::npos) << error.what();
  }
}

TEST(MpiApi, LargeCountsAreUsedOnlyWhenAllFunctionsAreThere) {
  EXPECT_TRUE(Api([](const char* name) { return symbol(name); }).has_large_counts);
  EXPECT_FALSE(Api([](const char* name) -> void* {
                 return std::string_view(name) == "MPI_Alltoallv_c" ? nullptr : symbol(name);
               }).has_large_counts);
}

TEST(MpiCapabilities, EverythingButAveragePrescaleAndSumsOf8BitFloats) {
  const spi::Capabilities has = capabilities();
  for (const OpTraits& row : kOpTraits) EXPECT_TRUE(has.has(row.kind)) << row.name;
  for (DataType type : kDataTypes) {
    EXPECT_TRUE(has.has(type));
    for (Reduction reduction : kReductions) {
      EXPECT_EQ(has.has(reduction, type),
                reduction != Reduction::average && is_defined(reduction, type) && !is_float8(type));
    }
  }
  for (const Reduction reduction : kReductions) EXPECT_FALSE(has.has_prescale(reduction));
}

}  // namespace
}  // namespace tutti::mpi
