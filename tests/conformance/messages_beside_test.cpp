// Messages and collectives of one communicator do not wait for each other, whether the caller, the progress thread or
// staging carries out the collectives.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <vector>

#include "support/devices/device_support.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

constexpr int kRounds = 20;
constexpr auto kPatience = 20s * kDeadlineFactor;

/// Backend and memory of the collectives.
struct Axis {
  const char* name;
  const char* backend;
  bool on_device;  ///< staged in the order of a stream; otherwise asynchronous on host memory
  std::size_t count;
};

class MessagesBeside : public testing::TestWithParam<Axis> {
 protected:
  /// Starts a sum that progresses without the caller.
  using Sum = std::function<Work()>;

  /// Runs `body` on two ranks, `kRounds` times, and checks the sum after each round.
  static void on_two_ranks(const std::function<void(const Communicator&, const Sum&)>& body) {
    const Axis axis = GetParam();
    RankOptions options;
    options.communicator.config.set("TUTTI_BACKEND", axis.backend).set("TUTTI_PROGRESS_THREAD", "1");
    const auto rank = [&](const Communicator& comm) {
      if (axis.on_device) {
        rounds_on_device(comm, body);
      } else {
        rounds_on_host(comm, body);
      }
    };
    EXPECT_EQ("", describe(run_ranks(2, rank, options)));
  }

 private:
  static void rounds_on_host(const Communicator& comm,
                             const std::function<void(const Communicator&, const Sum&)>& body) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> values(GetParam().count, 1.0F);
      body(comm, [&] { return comm.allreduce(values, {.async = true, .timeout = kPatience}); });
      for (const float value : values) ASSERT_EQ(value, 2.0F);
    }
  }

  static void rounds_on_device(const Communicator& comm,
                               const std::function<void(const Communicator&, const Sum&)>& body) {
    const std::size_t bytes = GetParam().count * sizeof(float);
    const Device device = rank_devices("threaded")[static_cast<std::size_t>(comm.rank())];
    const auto own = spi::device_runtime(device).make_stream(device);
    const DeviceArray array(own->stream(), MemoryKind::device, bytes);
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> values(GetParam().count, 1.0F);
      array.write(values.data(), bytes);
      const Buffer data(array.data(), values.size(), DataType::float32, array.where());
      body(comm, [&] { return comm.allreduce(data, {.stream = own->stream(), .timeout = kPatience}); });
      array.read(values.data(), bytes);
      for (const float value : values) ASSERT_EQ(value, 2.0F);
    }
  }
};

// The sum is pending on rank 0 only, and rank 1 enters it only after rank 0 has exchanged its messages.
TEST_P(MessagesBeside, AMessageIsWaitedForWhileASumIsUnderWay) {
  on_two_ranks([](const Communicator& comm, const Sum& sum) {
    std::uint8_t there = 1;
    std::uint8_t back = 2;
    if (comm.rank() == 0) {
      Work receiving = comm.recv(Buffer(&back, 1), 1, {.async = true, .timeout = kPatience});
      Work sending = comm.send(ConstBuffer(&there, 1), 1, {.async = true, .timeout = kPatience});
      Work adding = sum();
      receiving.wait();
      sending.wait();
      EXPECT_EQ(back, 3);
      adding.wait();
    } else {
      comm.recv(Buffer(&there, 1), 0, {.timeout = kPatience});
      back = 3;
      comm.send(ConstBuffer(&back, 1), 0, {.timeout = kPatience});
      sum().wait();
    }
  });
}

// Rank 1 sends the message after the sum, so waiting for the message must not stop the sum.
TEST_P(MessagesBeside, ASumGoesOnWhileAMessageIsWaitedFor) {
  on_two_ranks([](const Communicator& comm, const Sum& sum) {
    auto message = static_cast<std::uint8_t>(comm.rank());
    if (comm.rank() == 0) {
      Work receiving = comm.recv(Buffer(&message, 1), 1, {.async = true, .timeout = kPatience});
      Work adding = sum();
      receiving.wait();
      EXPECT_EQ(message, 1);
      adding.wait();
    } else {
      sum().wait();
      comm.send(ConstBuffer(&message, 1), 0, {.timeout = kPatience});
    }
  });
}

TEST_P(MessagesBeside, AMessageIsSeenByPolling) {
  on_two_ranks([](const Communicator& comm, const Sum& sum) {
    auto message = static_cast<std::uint8_t>(comm.rank());
    if (comm.rank() == 0) {
      Work receiving = comm.recv(Buffer(&message, 1), 1, {.async = true, .timeout = kPatience});
      Work adding = sum();
      while (!receiving.ready()) {
      }
      EXPECT_EQ(message, 1);
      const std::uint8_t answer = 0;
      comm.send(ConstBuffer(&answer, 1), 1, {.timeout = kPatience});
      adding.wait();
    } else {
      comm.send(ConstBuffer(&message, 1), 0, {.timeout = kPatience});
      comm.recv(Buffer(&message, 1), 0, {.timeout = kPatience});
      sum().wait();
    }
  });
}

// Rank 1 enters the sum only after it has received the message.
TEST_P(MessagesBeside, AMessageIsSentWhileASumIsUnderWay) {
  on_two_ranks([](const Communicator& comm, const Sum& sum) {
    std::vector<std::int32_t> message(10'007, comm.rank());  // a backend without this type gets bytes
    if (comm.rank() == 0) {
      Work adding = sum();
      comm.send(message, 1, {.timeout = kPatience});
      comm.recv(message, 1, {.async = true, .timeout = kPatience}).wait();
      EXPECT_EQ(message, std::vector<std::int32_t>(message.size(), 1));
      adding.wait();
    } else {
      std::vector<std::int32_t> got(message.size());
      comm.recv(got, 0, {.timeout = kPatience});
      EXPECT_EQ(got, std::vector<std::int32_t>(got.size(), 0));
      comm.send(message, 0, {.timeout = kPatience});
      sum().wait();
    }
  });
}

TEST_P(MessagesBeside, AGroupOfMessagesIsExchangedWhileASumIsUnderWay) {
  on_two_ranks([](const Communicator& comm, const Sum& sum) {
    const int peer = 1 - comm.rank();
    const std::vector<std::int32_t> sent(10'007, comm.rank());
    std::vector<std::int32_t> got(sent.size());
    const auto exchange = [&] {
      comm.group([&] {
        (void)comm.send(sent, peer, {.timeout = kPatience});
        (void)comm.recv(got, peer, {.timeout = kPatience});
      });
      EXPECT_EQ(got, std::vector<std::int32_t>(got.size(), peer));
    };
    if (comm.rank() == 0) {
      Work adding = sum();
      exchange();
      adding.wait();
    } else {
      exchange();
      sum().wait();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Axes, MessagesBeside,
                         testing::Values(Axis{"native_host", "native", false, 100'003},
                                         Axis{"minimal_host", "minimal", false, 1'009},
                                         Axis{"native_staged", "native", true, 1'009},
                                         Axis{"minimal_staged", "minimal", true, 1'009}),
                         [](const auto& axis) { return std::string(axis.param.name); });

// An emulated collective consists of messages, which must not mix with the messages of the program.
TEST(MessagesBesideEmulation, AreNotMixedUp) {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "minimal").set("TUTTI_PROGRESS_THREAD", "1");
  const auto rank = [&](const Communicator& comm) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<std::uint8_t> all(1'009, comm.rank() == 0 ? 7 : 0);
      std::vector<std::uint8_t> one(1'009, comm.rank() == 0 ? 9 : 0);
      Work spreading = comm.broadcast(all, 0, {.async = true, .timeout = kPatience});
      if (comm.rank() == 0) {
        comm.send(one, 1, {.timeout = kPatience});
      } else {
        comm.recv(one, 0, {.timeout = kPatience});
      }
      spreading.wait();
      EXPECT_EQ(all, std::vector<std::uint8_t>(all.size(), 7));
      EXPECT_EQ(one, std::vector<std::uint8_t>(one.size(), 9));
    }
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, options)));
}

}  // namespace
}  // namespace tutti::test
