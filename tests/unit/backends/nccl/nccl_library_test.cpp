// Choice of the NCCL library, mapping of its versions, types and errors, and the error of the real library without a
// driver.
#include "nccl_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "nccl_types.hpp"
#include "tutti/spi/module.hpp"

extern "C" const tutti::spi::BackendModule* tutti_backend_module();

namespace tutti::nccl {
namespace {

TEST(NcclVersion, IsCountedInTwoWays) {
  EXPECT_EQ(version_text(22809), "2.28.9");
  EXPECT_EQ(version_text(21403), "2.14.3");
  EXPECT_EQ(version_text(2804), "2.8.4");
}

TEST(NcclLibrary, SaysWhyThereIsNone) {
  const Library chosen = open_library("/no/such/libnccl.so", {});
  EXPECT_EQ(chosen.handle, nullptr);
  EXPECT_EQ(chosen.failure.rfind("TUTTI_NCCL_LIBRARY: /no/such/libnccl.so: cannot open", 0), 0u) << chosen.failure;
  const Library other = open_library("libdl.so.2", {});
  EXPECT_EQ(other.handle, nullptr);
  EXPECT_NE(other.failure.find("is not an NCCL library"), std::string::npos) << other.failure;
}

TEST(NcclTypes, AllButShortIntegersAreReduced) {
  const spi::Capabilities has = capabilities(kFirstWithFloat8);
  for (const OpTraits& row : kOpTraits) EXPECT_TRUE(has.has(row.kind)) << row.name;
  for (const DataType type : kDataTypes) {
    EXPECT_TRUE(has.has(type)) << name(type);
    const bool is_short = type == DataType::int16 || type == DataType::uint16;
    for (const Reduction reduction : kReductions) {
      EXPECT_EQ(has.has(reduction, type), !is_short && reduction < Reduction::bit_and)
          << name(reduction) << " " << name(type);
    }
  }
  for (const Reduction reduction : kReductions) {
    EXPECT_EQ(has.has_prescale(reduction), reduction == Reduction::sum || reduction == Reduction::average);
  }
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    EXPECT_TRUE(has.takes("cuda", kind));
    EXPECT_FALSE(has.takes("sycl", kind));
  }
}

TEST(NcclTypes, OlderVersionsMove8BitFloatsOnly) {
  const spi::Capabilities has = capabilities(kFirstWithFloat8 - 1);
  for (const DataType type : {DataType::float8_e4m3, DataType::float8_e5m2}) {
    EXPECT_TRUE(has.has(type)) << name(type);
    EXPECT_FALSE(has.has(Reduction::sum, type)) << name(type);
  }
  EXPECT_TRUE(has.has(Reduction::sum, DataType::bfloat16));
}

TEST(NcclTypes, TheirSizesAreOurs) {
  EXPECT_EQ(datatype(DataType::float8_e4m3), ncclFloat8e4m3);
  EXPECT_EQ(datatype(DataType::float8_e5m2), ncclFloat8e5m2);
  EXPECT_EQ(datatype(DataType::bfloat16), ncclBfloat16);
  EXPECT_EQ(datatype(DataType::float16), ncclFloat16);
  EXPECT_EQ(datatype(DataType::uint64), ncclUint64);
  EXPECT_EQ(datatype(DataType::int16), std::nullopt);
  EXPECT_EQ(reduction(Reduction::min), ncclMin);
  EXPECT_EQ(reduction(Reduction::max), ncclMax);
  EXPECT_EQ(reduction(Reduction::bit_or), std::nullopt);
  EXPECT_EQ(code_of(ncclRemoteError), ErrorCode::peer_failure);
  EXPECT_EQ(code_of(ncclSystemError), ErrorCode::backend_failure);
}

TEST(NcclApi, NamesWhatALibraryLacks) {
  const auto lookup = [](const char* name) -> void* {
    static int anything = 0;
    return std::string_view(name) == "ncclCommFinalize" ? nullptr : &anything;
  };
  try {
    const Api api(lookup);
    FAIL() << "no error although ncclCommFinalize is missing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::backend_unavailable);
    EXPECT_STREQ(error.what(), "the library lacks ncclCommFinalize");
  }
}

TEST(NcclModule, OneHostIsLeftToTheNativeEngineUnlessAskedFor) {
  const spi::Peers host = {.rank = 0, .size = 2, .hosts = {"a", "a"}, .pids = {7, 8}, .same_process = false};
  const Config config = Config().set("TUTTI_BACKEND", "auto");
  const spi::Probe left = tutti_backend_module()->probe({config, &host});
  EXPECT_FALSE(left.usable);
  EXPECT_NE(left.reason.find("TUTTI_BACKEND=nccl"), std::string::npos) << left.reason;
}

// Opens the real library, which then stays loaded in this process.
TEST(RealNccl, SaysThatThereIsNoDriver) {
  const Library library = open_library(std::string(TUTTI_TEST_REAL_NCCL) + "/libnccl.so.2", {});
  ASSERT_NE(library.handle, nullptr) << library.failure;
  EXPECT_GE(library.number, kOldestVersion);
  EXPECT_EQ(library.version, "NCCL " + version_text(library.number)) << "the library must be the real one";
  const Api api([&](const char* name) { return dlsym(library.handle, name); });
  ncclUniqueId id = {};
  ASSERT_EQ(api.get_unique_id(&id), ncclSuccess);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  ncclComm_t comm = nullptr;
  const ncclResult_t result = api.comm_init_rank_config(&comm, 1, id, 0, &config);
  if (result == ncclSuccess) {
    EXPECT_EQ(api.comm_destroy(comm), ncclSuccess);
    GTEST_SKIP() << "this machine has an NVIDIA GPU";
  }
  const Error error = to_error(api, result, nullptr);
  EXPECT_EQ(error.code(), ErrorCode::backend_failure);
  EXPECT_EQ(error.vendor_code(), ncclUnhandledCudaError);
  EXPECT_NE(std::string_view(error.what()).find("unhandled cuda error"), std::string_view::npos) << error.what();
}

}  // namespace
}  // namespace tutti::nccl
