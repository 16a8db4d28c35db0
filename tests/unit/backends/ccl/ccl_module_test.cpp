// The module refuses groups of ranks that it does not serve, before it searches for the library.
#include <gtest/gtest.h>

#include <string>

#include "channel/ccl_interface.hpp"
#include "tutti/spi/module.hpp"

extern "C" const tutti::spi::BackendModule* tutti_backend_module();

namespace tutti::ccl {
namespace {

spi::Probe probe(const spi::Peers& peers, std::string_view backend) {
  const Config config = Config().set("TUTTI_BACKEND", backend);
  return tutti_backend_module()->probe({config, &peers});
}

TEST(CclModule, RanksThatAreThreadsOfOneProcessAreRefused) {
  const spi::Peers threads = {.rank = 1, .size = 2, .hosts = {"a", "a"}, .pids = {7, 7}};
  EXPECT_FALSE(probe(threads, "ccl").usable);
  EXPECT_EQ(probe(threads, "ccl").reason,
            "ranks 0 and 1 are threads of one process; oneCCL needs one process per rank");

  const spi::Peers some = {
      .rank = 2, .size = 3, .hosts = {"b", "a", "a"}, .pids = {7, 7, 7}, .same_host = false, .same_process = false};
  EXPECT_FALSE(probe(some, "ccl").usable);
  EXPECT_EQ(probe(some, "ccl").reason, "ranks 1 and 2 are threads of one process; oneCCL needs one process per rank");
}

TEST(CclModule, OneHostIsLeftToTheNativeEngineUnlessAskedFor) {
  const spi::Peers host = {.rank = 0, .size = 2, .hosts = {"a", "a"}, .pids = {7, 8}, .same_process = false};
  const spi::Probe left = probe(host, "auto");
  EXPECT_FALSE(left.usable);
  EXPECT_NE(left.reason.find("TUTTI_BACKEND=ccl"), std::string::npos) << left.reason;
}

TEST(CclModule, WhatOneCclLacksIsLeftToBeEmulated) {
  const spi::Capabilities has = capabilities(ApiKind::cpp, false);
  for (const OpTraits& row : kOpTraits) {
    EXPECT_EQ(has.has(row.kind), row.kind != OpKind::reduce_scatterv) << row.name;
  }
  for (const DataType type : kDataTypes) {
    EXPECT_TRUE(has.has(type));
    for (const Reduction one : {Reduction::sum, Reduction::product, Reduction::min, Reduction::max}) {
      EXPECT_EQ(has.has(one, type), !is_float8(type)) << name(one) << " of " << name(type);
    }
    EXPECT_FALSE(has.has(Reduction::average, type));
    EXPECT_FALSE(has.has(Reduction::bit_xor, type));
    EXPECT_FALSE(has.has(Reduction::logical_and, type));
  }
  for (const Reduction reduction : kReductions) EXPECT_FALSE(has.has_prescale(reduction));
}

TEST(CclModule, DeviceMemoryIsTakenWhereOneCclHasTheSameSycl) {
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    EXPECT_FALSE(capabilities(ApiKind::cpp, false).takes("sycl", kind));
    EXPECT_TRUE(capabilities(ApiKind::cpp, true).takes("sycl", kind));
    EXPECT_FALSE(capabilities(ApiKind::cpp, true).takes("cuda", kind));
  }
}

TEST(CclModule, TheCInterfaceHasLess) {
  const spi::Capabilities has = capabilities(ApiKind::c, false);
  for (const OpKind kind : {OpKind::allreduce, OpKind::allgather, OpKind::reduce_scatter, OpKind::broadcast,
                            OpKind::reduce, OpKind::alltoall, OpKind::send, OpKind::recv}) {
    EXPECT_TRUE(has.has(kind)) << name(kind);
  }
  for (const OpKind kind : {OpKind::allgatherv, OpKind::reduce_scatterv, OpKind::gather, OpKind::gatherv,
                            OpKind::scatter, OpKind::scatterv, OpKind::alltoallv, OpKind::barrier}) {
    EXPECT_FALSE(has.has(kind)) << name(kind);
  }
  for (const DataType type : kDataTypes) {
    EXPECT_TRUE(has.has(type)) << name(type);
    const bool is_short = type == DataType::int16 || type == DataType::uint16;
    EXPECT_EQ(has.has(Reduction::sum, type), !is_short && !is_float8(type)) << name(type);
    EXPECT_EQ(has.has(Reduction::max, type), !is_short && !is_float8(type)) << name(type);
    EXPECT_FALSE(has.has(Reduction::average, type)) << name(type);
    EXPECT_FALSE(has.has(Reduction::bit_and, type)) << name(type);
  }
  EXPECT_FALSE(has.takes("sycl", MemoryKind::device));
}

}  // namespace
}  // namespace tutti::ccl
