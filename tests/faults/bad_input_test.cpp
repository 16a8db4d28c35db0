// A wrong argument of a call throws an Error that names the argument; nothing hangs and no buffer is written.
#include <gtest/gtest.h>

#include <vector>

#include "expect_error.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

constexpr auto kArgument = ErrorCode::invalid_argument;
constexpr auto kUsage = ErrorCode::invalid_usage;

// All ranks make the same mistake, so that an unnoticed mistake shows as a missing error, not as a hang.
void on_ranks(int size, const std::function<void(const Communicator&)>& body, const Config& config = {}) {
  RankOptions options;
  options.communicator.config = config;
  options.deadline = std::chrono::seconds(60);
  TUTTI_EXPECT_RANKS(
      size,
      [&](const Communicator& comm) {
        body(comm);
        // The communicator is still usable after a refused call.
        std::int32_t one = 1;
        comm.allreduce(Buffer(&one, 1));
        EXPECT_EQ(one, comm.size());
      },
      options);
}

TEST(BadInput, NullWithCount) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> data(8);
    expect_error(kArgument, {"allreduce", "input", "null", "8"},
                 [&] { comm.allreduce(ConstBuffer(nullptr, 8, DataType::float32), data); });
    expect_error(kArgument, {"broadcast", "null", "5"}, [&] { comm.broadcast(Buffer(nullptr, 5, DataType::int8), 0); });
    expect_error(kArgument, {"allgather", "output", "null"},
                 [&] { comm.allgather(data, Buffer(nullptr, 16, DataType::float32)); });
  });
}

TEST(BadInput, NullWithoutCountIsFine) {
  on_ranks(2, [](const Communicator& comm) {
    comm.allreduce(Buffer(nullptr, 0, DataType::float32));
    comm.alltoall(ConstBuffer(nullptr, 0, DataType::int16), Buffer(nullptr, 0, DataType::int16));
  });
}

TEST(BadInput, RootAndPeerOutsideTheGroup) {
  on_ranks(3, [](const Communicator& comm) {
    std::vector<float> data(3);
    std::vector<float> all(9);
    for (const int root : {-1, 3, 1000}) {
      const std::string number = std::to_string(root);
      expect_error(kArgument, {"broadcast", "root", number}, [&] { comm.broadcast(data, root); });
      expect_error(kArgument, {"reduce", "root", number}, [&] { comm.reduce(data, all, root); });
      expect_error(kArgument, {"gather", "root", number}, [&] { comm.gather(data, all, root); });
      expect_error(kArgument, {"scatter", "root", number}, [&] { comm.scatter(all, data, root); });
      expect_error(kArgument, {"send", "peer", number}, [&] { comm.send(data, root); });
      expect_error(kArgument, {"recv", "peer", number}, [&] { comm.recv(data, root); });
    }
    expect_error(kArgument, {"send", "itself"}, [&] { comm.send(data, comm.rank()); });
  });
}

TEST(BadInput, MessagesOfARankToItselfWithoutACounterpart) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<std::int64_t> data(1000);
    std::vector<std::int64_t> other(999);
    const int me = comm.rank();
    const auto refused = [&](std::initializer_list<std::string_view> words, const std::function<void()>& body) {
      expect_error(ErrorCode::invalid_usage, words, [&] { comm.group(body); });
    };
    refused({"send of 1000 int64", "no recv", "same group"}, [&] { comm.send(data, me); });
    refused({"recv of 999 int64", "no send"}, [&] {
      comm.send(data, me);
      comm.recv(data, me);
      comm.recv(other, me);
    });
    refused({"recv of 999 int64", "sends itself 1000 int64", "receives 999 int64"}, [&] {
      comm.send(data, me);
      comm.recv(other, me);
    });
    comm.barrier();  // the communicator stays usable
  });
}

TEST(BadInput, ErrorsNameTheCountAndTypeOfTheCall) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<std::int64_t> data(1000);
    std::vector<float> other(1000);
    expect_error(kArgument, {"send of 1000 int64 (7.812 KiB)"}, [&] { comm.send(data, comm.rank()); });
    expect_error(kArgument, {"recv of 1000 int64 (7.812 KiB)"}, [&] { comm.recv(data, 7); });
    expect_error(kArgument, {"broadcast of 1000 int64"}, [&] { comm.broadcast(data, -1); });
    expect_error(kArgument, {"allreduce(sum) of 1000 int64"}, [&] { comm.allreduce(data, other); });
    expect_error(kArgument, {"scatter of 999 int64"},
                 [&] { comm.scatter(Buffer(data.data(), 999), Buffer(data.data(), 500), comm.rank()); });
  });
}

TEST(BadInput, OverlappingBuffers) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> data(64);
    const auto part = [&](std::size_t first, std::size_t count) { return Buffer(data.data() + first, count); };
    const auto refused = [](const char* op, auto&& call) { expect_error(kArgument, {op, "overlap"}, call); };
    refused("allreduce", [&] { comm.allreduce(part(0, 8), part(4, 8)); });
    refused("alltoall", [&] { comm.alltoall(part(0, 8), part(0, 8)); });
    // Only the rank's own block is in place.
    const auto other = static_cast<std::size_t>(1 - comm.rank());
    refused("allgather", [&] { comm.allgather(part(other * 8, 8), part(0, 16)); });
    refused("reduce_scatter", [&] { comm.reduce_scatter(part(0, 16), part(other * 8, 8)); });
    refused("reduce_scatter", [&] { comm.reduce_scatter(part(0, 16), part(1, 8)); });
    const std::vector<std::uint64_t> counts = {8, 8};
    refused("reduce_scatterv", [&] { comm.reduce_scatterv(part(0, 16), {.counts = counts}, part(other * 8, 8)); });
  });
}

TEST(BadInput, BlocksThatOverlap) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> in(4);
    std::vector<float> out(16);
    const std::vector<std::uint64_t> counts = {4, 4};
    const std::vector<std::uint64_t> displacements = {0, 2};
    expect_error(kArgument, {"allgatherv", "overlap"},
                 [&] { comm.allgatherv(in, out, {.counts = counts, .displacements = displacements}); });
  });
}

TEST(BadInput, TypesAndReductions) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> floats(4);
    std::vector<std::int32_t> integers(4);
    expect_error(kArgument, {"allreduce", "float32", "int32"}, [&] { comm.allreduce(floats, integers); });
    expect_error(kArgument, {"bit_and", "float32"}, [&] { comm.allreduce(floats, {.op = Reduction::bit_and}); });
    expect_error(kArgument, {"logical_or", "float32"},
                 [&] { comm.reduce(floats, floats, 0, {.op = Reduction::logical_or}); });
    std::vector<bfloat16> halves(4);
    expect_error(kArgument, {"bit_xor", "bfloat16"}, [&] { comm.allreduce(halves, {.op = Reduction::bit_xor}); });
    std::vector<float8_e5m2> quarters(4);
    expect_error(kArgument, {"bit_or", "float8_e5m2"}, [&] { comm.allreduce(quarters, {.op = Reduction::bit_or}); });
    expect_error(kArgument, {"prescale", "int32"}, [&] { comm.allreduce(integers, {.prescale = 0.5}); });
  });
}

TEST(BadInput, CountsThatDoNotFit) {
  on_ranks(3, [](const Communicator& comm) {
    std::vector<float> five(5);
    std::vector<float> seven(7);
    std::vector<float> nine(9);
    std::vector<float> three(3);
    expect_error(kArgument, {"allreduce", "7", "5"}, [&] { comm.allreduce(five, seven); });
    expect_error(kArgument, {"allgather", "7", "9"}, [&] { comm.allgather(three, seven); });
    expect_error(kArgument, {"reduce_scatter", "7", "3"}, [&] { comm.reduce_scatter(seven, three); });
    expect_error(kArgument, {"alltoall", "9", "7"}, [&] { comm.alltoall(nine, seven); });
    const std::vector<std::uint64_t> counts = {2, 2, 2};
    expect_error(kArgument, {"reduce_scatterv", "3", "2"},
                 [&] { comm.reduce_scatterv(seven, {.counts = counts}, three); });
    expect_error(kArgument, {"reduce_scatterv", "one count per rank"}, [&] { comm.reduce_scatterv(seven, {}, three); });
    expect_error(kArgument, {"reduce_scatterv", "outside of its 5"},
                 [&] { comm.reduce_scatterv(five, {.counts = counts}, three); });
    expect_error(kArgument, {"reduce_scatterv", "displacements"}, [&] {
      comm.reduce_scatterv(seven, {.counts = counts, .displacements = counts}, Buffer(three.data(), 2));
    });
    if (comm.rank() == 1) {
      expect_error(kArgument, {"gather", "7", "9"}, [&] { comm.gather(three, seven, 1); });
      expect_error(kArgument, {"scatter", "7"}, [&] { comm.scatter(seven, three, 1); });
    }
  });
}

TEST(BadInput, BlocksThatDoNotFit) {
  on_ranks(2, [](const Communicator& comm) {
    std::vector<float> in(4);
    std::vector<float> out(8);
    const std::vector<std::uint64_t> good = {4, 4};
    const std::vector<std::uint64_t> three = {4, 2, 2};
    const std::vector<std::uint64_t> beyond = {0, 5};
    const std::vector<std::uint64_t> overflow = {0, UINT64_MAX - 1};
    expect_error(kArgument, {"allgatherv", "2", "3"}, [&] { comm.allgatherv(in, out, {.counts = three}); });
    expect_error(kArgument, {"allgatherv", "displacements"},
                 [&] { comm.allgatherv(in, out, {.counts = good, .displacements = three}); });
    expect_error(kArgument, {"allgatherv", "block 1", "outside"},
                 [&] { comm.allgatherv(in, out, {.counts = good, .displacements = beyond}); });
    expect_error(kArgument, {"block 1", "outside"},
                 [&] { comm.allgatherv(in, out, {.counts = good, .displacements = overflow}); });
    expect_error(kArgument, {"alltoallv", "block 1"},
                 [&] { comm.alltoallv(in, {.counts = good}, out, {.counts = good}); });
  });
}

TEST(BadInput, RanksThatDoNotAgree) {
  // A mismatch makes the communicator unusable, so each case has its own.
  const Config config = Config().set("TUTTI_CHECK", "1");
  const auto mismatch = [&](std::initializer_list<std::string_view> words, auto&& body) {
    RankOptions options;
    options.communicator.config = config;
    options.deadline = std::chrono::seconds(60);
    TUTTI_EXPECT_RANKS(
        2, [&](const Communicator& comm) { expect_error(kUsage, words, [&] { body(comm); }); }, options);
  };
  std::vector<std::vector<float>> data(2, std::vector<float>(64));
  const auto mine = [&](const Communicator& comm) { return Buffer(data[static_cast<std::size_t>(comm.rank())]); };
  mismatch({"rank 0", "rank 1", "10", "11"}, [&](const Communicator& comm) {
    comm.allreduce(Buffer(mine(comm).data, 10u + static_cast<unsigned>(comm.rank()), DataType::float32));
  });
  mismatch({"broadcast", "root 0", "root 1"},
           [&](const Communicator& comm) { comm.broadcast(mine(comm), comm.rank()); });
  mismatch({"allreduce", "barrier"}, [&](const Communicator& comm) {
    if (comm.rank() == 0)
      comm.allreduce(mine(comm));
    else
      comm.barrier();
  });
  mismatch({"sum", "max"}, [&](const Communicator& comm) {
    comm.allreduce(mine(comm), {.op = comm.rank() == 0 ? Reduction::sum : Reduction::max});
  });
}

// The native engine compares the calls itself.
TEST(BadInput, MismatchesThatTheNativeEngineNotices) {
  std::vector<std::vector<double>> data(3, std::vector<double>(70000));
  const auto mismatch = [&](auto&& body) {
    RankOptions options;
    options.communicator.config = Config().set("TUTTI_CHECK", "0").set("TUTTI_BACKEND", "native");
    options.deadline = std::chrono::seconds(60);
    TUTTI_EXPECT_RANKS(
        3,
        [&](const Communicator& comm) {
          expect_error(kUsage, {"rank 1", "+0x"}, [&] {
            body(comm, data[static_cast<std::size_t>(comm.rank())].data(), comm.rank() == 1);
            comm.barrier();
          });
        },
        options);
  };
  const auto with = [&](std::uint64_t count, DataType type, std::uint64_t other_count, DataType other) {
    mismatch([=](const Communicator& comm, void* memory, bool differs) {
      comm.allreduce(differs ? Buffer(memory, other_count, other) : Buffer(memory, count, type));
    });
  };
  // Bits of the count that meet those of the type in the fingerprint.
  constexpr auto kDistance =
      static_cast<std::uint64_t>(DataType::float32) ^ static_cast<std::uint64_t>(DataType::float64);
  with(512, DataType::float32, 512 ^ (kDistance << 8), DataType::float64);
  with(512, DataType::float32, 512, DataType::int32);
  with(20000, DataType::float64, 20001, DataType::float64);
  mismatch([](const Communicator& comm, void* memory, bool differs) {
    comm.allreduce(Buffer(memory, 65536 + (differs ? 65536 >> 1 : 0), DataType::float32),
                   {.op = differs ? Reduction::max : Reduction::sum});
  });
  mismatch([](const Communicator& comm, void* memory, bool differs) {
    comm.allreduce(Buffer(memory, 100, DataType::float32), {.prescale = differs ? 2.0 : 1.0});
  });
  mismatch([](const Communicator& comm, void* memory, bool differs) {
    comm.broadcast(Buffer(memory, 100, DataType::float32), differs ? 1 : 0);
  });
  mismatch([](const Communicator& comm, void* memory, bool differs) {
    if (differs) return (void)comm.barrier();
    comm.broadcast(Buffer(memory, 100, DataType::float32), 0);
  });
}

TEST(BadInput, VectorCountsThatDoNotAgree) {
  const auto mismatch = [&](std::initializer_list<std::string_view> words, auto&& body) {
    RankOptions options;
    options.communicator.config = Config().set("TUTTI_CHECK", "1");
    options.deadline = std::chrono::seconds(60);
    TUTTI_EXPECT_RANKS(
        3, [&](const Communicator& comm) { expect_error(kUsage, words, [&] { body(comm); }); }, options);
  };
  using Counts = std::vector<std::uint64_t>;
  mismatch({"allgatherv", "rank 1 sends 5 float32 to rank 0, which expects 4"}, [](const Communicator& comm) {
    std::vector<float> in(comm.rank() == 1 ? 5 : 4);
    std::vector<float> out(13);
    comm.allgatherv(in, out, {.counts = comm.rank() == 0 ? Counts{4, 4, 4} : Counts{4, 5, 4}});
  });
  mismatch({"reduce_scatterv", "rank 0 sends 1 float32 to rank 1, which expects 2"}, [](const Communicator& comm) {
    std::vector<float> in(4);
    std::vector<float> out(comm.rank() == 2 ? 1 : comm.rank() == 0 ? 1 : 2);
    comm.reduce_scatterv(in, {.counts = comm.rank() == 0 ? Counts{1, 1, 2} : Counts{1, 2, 1}}, out);
  });
  mismatch({"gatherv", "rank 2 sends 3 float32 to rank 1, which expects 2"}, [](const Communicator& comm) {
    std::vector<float> in(static_cast<std::size_t>(comm.rank()) + 1);
    std::vector<float> out(5);
    comm.gatherv(in, out, {.counts = comm.rank() == 1 ? Counts{1, 2, 2} : Counts{}}, 1);
  });
  mismatch({"scatterv", "rank 0 sends 2 float32 to rank 2, which expects 3"}, [](const Communicator& comm) {
    std::vector<float> in(comm.rank() == 0 ? 5 : 0);
    std::vector<float> out(static_cast<std::size_t>(comm.rank()) + 1);
    comm.scatterv(in, {.counts = comm.rank() == 0 ? Counts{1, 2, 2} : Counts{}}, out, 0);
  });
  mismatch({"alltoallv", "rank 1 sends 2 float32 to rank 2, which expects 1"}, [](const Communicator& comm) {
    std::vector<float> in(4);
    std::vector<float> out(3);
    const Counts sends = comm.rank() == 1 ? Counts{1, 1, 2} : Counts{1, 1, 1};
    comm.alltoallv(in, {.counts = sends}, out, {.counts = Counts{1, 1, 1}});
  });
}

TEST(BadInput, ErrorsOnASplitCommunicatorNameTheRanksOfTheJob) {
  const std::string_view names = "ranks 0 and 1 of communicator odd are ranks 1 and 3 of the job";
  const auto odd = [](const Communicator& comm) {
    return comm.split(comm.rank() % 2, 0, comm.rank() % 2 == 1 ? "odd" : "even");
  };
  const auto reduce = [](const Communicator& part, bool async) {
    std::vector<float> data(10 + static_cast<std::size_t>(part.rank()));
    if (async) {
      part.allreduce(data, {.async = true}).wait();
    } else {
      part.allreduce(data);
    }
  };
  for (const bool async : {false, true}) {
    for (const char* check : {"0", "1"}) {
      RankOptions options;
      options.communicator.config = Config().set("TUTTI_CHECK", check);
      options.deadline = std::chrono::seconds(60);
      TUTTI_EXPECT_RANKS(
          4,
          [&](const Communicator& comm) {
            const Communicator part = odd(comm);
            if (comm.rank() % 2 == 0) return;
            expect_error(kUsage, {"rank 0", "rank 1", names}, [&] { reduce(part, async); });
          },
          options);
    }
  }
}

TEST(BadInput, CheckingIsTransparent) {
  on_ranks(
      3,
      [](const Communicator& comm) {
        std::vector<double> data(1000, comm.rank());
        comm.allreduce(data);
        EXPECT_EQ(data[999], 3.0);
        Work pending = comm.allreduce(data, {.async = true});
        pending.wait();
        EXPECT_EQ(data[0], 9.0);
        const std::vector<std::uint64_t> counts = {1, 2, 3};
        const std::vector<int> part(static_cast<std::size_t>(comm.rank()) + 1, comm.rank());
        std::vector<int> whole(6);
        comm.allgatherv(part, whole, {.counts = counts});
        EXPECT_EQ(whole, (std::vector<int>{0, 1, 1, 2, 2, 2}));
        std::vector<int> gathered(6);
        comm.gatherv(part, gathered, {.counts = counts}, 1);
        if (comm.rank() == 1) EXPECT_EQ(gathered, whole);
        std::vector<int> back(part.size(), -1);
        comm.scatterv(gathered, {.counts = counts}, back, 1);
        EXPECT_EQ(back, part);
        comm.reduce_scatterv(whole, {.counts = counts}, back);
        EXPECT_EQ(back, std::vector<int>(part.size(), 3 * comm.rank()));
      },
      Config().set("TUTTI_CHECK", "1"));
}

TEST(BadInput, EmptyCommunicator) {
  const Communicator empty;
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.size(), 0);
  std::vector<float> data(3);
  expect_error(kUsage, {"empty"}, [&] { empty.allreduce(data); });
  expect_error(kUsage, {"empty"}, [&] { empty.barrier(); });
  expect_error(kUsage, {"empty"}, [&] { (void)empty.duplicate(); });
  expect_error(kUsage, {"empty"}, [&] { empty.group([] {}); });
  expect_error(kUsage, {"empty"}, [&] { (void)empty.explain(OpKind::allreduce); });
  empty.abort();
}

TEST(BadInput, Groups) {
  on_ranks(2, [](const Communicator& comm) {
    expect_error(kUsage, {"group"}, [&] { comm.group([&] { comm.group([] {}); }); });
    expect_error(kUsage, {"group"}, [&] { comm.group([&] { (void)comm.duplicate(); }); });
    std::vector<float> data(3);
    // A bad call in a group throws immediately; no operation of the group starts.
    std::vector<float> untouched(4, 5.0F);
    expect_error(kArgument, {"root", "9"}, [&] {
      comm.group([&] {
        (void)comm.allreduce(untouched);
        (void)comm.broadcast(data, 9);
      });
    });
    EXPECT_EQ(untouched, std::vector<float>(4, 5.0F));
  });
}

TEST(BadInput, LocalGroupSize) {
  expect_error(kArgument, {"0"}, [] { (void)local_group(0); });
  expect_error(kArgument, {"-3"}, [] { (void)local_group(-3); });
}

TEST(BadInput, UnknownBackendAndBadVariable) {
  CommunicatorOptions options;
  options.config.set("TUTTI_BACKEND", "warp_drive");
  expect_error(ErrorCode::backend_unavailable, {"warp_drive", "native"}, [&] { (void)local_group(2, options); });
  expect_error(ErrorCode::config, {"TUTTI_TIMEOUT", "soon"}, [] { Config().set("TUTTI_TIMEOUT", "soon"); });
  expect_error(ErrorCode::config, {"TUTTI_STRICT", "maybe"}, [] { Config().set("TUTTI_STRICT", "maybe"); });
  expect_error(ErrorCode::config, {"TUTTI_BAKEND"}, [] { Config().set("TUTTI_BAKEND", "native"); });
  ASSERT_EQ(setenv("TUTTI_STRICT", "maybe", 1), 0);
  expect_error(ErrorCode::config, {"TUTTI_STRICT", "maybe"}, [] { (void)Config(); });
  unsetenv("TUTTI_STRICT");
}

}  // namespace
}  // namespace tutti::test
