// The ranks of a group use oneCCL over one transport.
#include "creation/ccl_transport.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>
#include <vector>

#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

constexpr TransportOffer kOfi = {};
const TransportOffer kStartedOfi = {.is_decided = true, .transport = Transport::ofi};
const TransportOffer kStartedMpi = {.is_decided = true, .transport = Transport::mpi};

TransportOffer in_job(int rank, int size, const std::string& job = "a1") {
  return {.transport = Transport::mpi, .job = job, .rank = rank, .size = size};
}

Transport chosen(const std::vector<TransportOffer>& offers, bool same_host = true) {
  return choose_transport(offers, same_host);
}

TEST(Transport, IsMpiForAllRanksOfOneJob) {
  EXPECT_EQ(chosen({in_job(0, 2), in_job(1, 2)}), Transport::mpi);
  EXPECT_EQ(chosen({in_job(1, 2), in_job(0, 2)}), Transport::mpi) << "the order does not matter";
  EXPECT_EQ(chosen({in_job(0, 1)}), Transport::mpi);
}

// MPI starts on all ranks of its job or waits for ever.
TEST(Transport, IsOfiForAPartOfAJob) {
  EXPECT_EQ(chosen({in_job(0, 3), in_job(1, 3)}), Transport::ofi);
  EXPECT_EQ(chosen({in_job(0, 2)}), Transport::ofi);
}

// As when one rank of an MPI job starts others, which inherit its variables.
TEST(Transport, IsOfiForRanksThatAreNotDistinctRanksOfOneJob) {
  EXPECT_EQ(chosen({in_job(0, 2), in_job(0, 2)}), Transport::ofi);
  EXPECT_EQ(chosen({in_job(0, 2), in_job(1, 2, "b2")}), Transport::ofi);
  EXPECT_EQ(chosen({in_job(0, 2), kOfi}), Transport::ofi) << "a rank without Intel MPI";
  EXPECT_EQ(chosen({kOfi, kOfi}), Transport::ofi);
}

TEST(Transport, StaysThatOfRanksThatHaveStarted) {
  EXPECT_EQ(chosen({kStartedMpi, kStartedMpi}), Transport::mpi) << "also for a part of the job";
  EXPECT_EQ(chosen({kStartedOfi, in_job(1, 2)}), Transport::ofi);
  try {
    (void)chosen({kStartedOfi, kStartedMpi, kStartedMpi});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_usage);
    EXPECT_NE(std::string(error.what()).find("rank 1 uses oneCCL over MPI, but rank 0 does not"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW((void)chosen({kStartedMpi, in_job(1, 2)}), Error);
}

// The key-value store of oneCCL on rank 1 listens on the loopback interface.
TEST(Transport, OfARankWhoseStoreServesOneHostIsRefusedAcrossHosts) {
  const TransportOffer confined = {.is_decided = true, .transport = Transport::ofi, .is_confined = true};
  EXPECT_EQ(chosen({kStartedOfi, confined}), Transport::ofi) << "on one host";
  try {
    (void)chosen({kStartedOfi, confined}, false);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_usage);
    for (const char* word : {"rank 1 ", "CCL_KVS_IFACE"}) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
  EXPECT_TRUE(TransportOffer::of(confined.text()).is_confined);
  EXPECT_FALSE(TransportOffer::of(kStartedOfi.text()).is_confined);
}

TEST(Transport, OfferOfAProcess) {
  std::map<std::string, std::string> variables = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"I_MPI_HYDRA_UUID", "f00"}};
  const EnvironmentLookup environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const TransportOffer offer = offer_of_process("/lib/libmpi.so.12", environment);
  EXPECT_FALSE(offer.is_decided);
  EXPECT_EQ(offer.transport, Transport::mpi);
  EXPECT_EQ(offer.job, "f00");
  EXPECT_EQ(offer.rank, 3);
  EXPECT_EQ(offer.size, 4);
  EXPECT_EQ(offer_of_process("", environment).transport, Transport::ofi);
  variables["CCL_ATL_TRANSPORT"] = "ofi";
  EXPECT_TRUE(offer_of_process("/lib/libmpi.so.12", environment).is_decided) << "the user decided";
  EXPECT_EQ(offer_of_process("/lib/libmpi.so.12", environment).transport, Transport::ofi);
}

TEST(Transport, OffersSurviveTheWire) {
  const TransportOffer read = TransportOffer::of(in_job(5, 7, "x-y").text());
  EXPECT_EQ(read.text(), in_job(5, 7, "x-y").text());
  EXPECT_EQ(read.job, "x-y");
  EXPECT_EQ(TransportOffer::of(kStartedMpi.text()).is_decided, true);
  for (const char* broken : {"", "decided", "decided mpi", "nonsense mpi a b c"}) {
    EXPECT_EQ(TransportOffer::of(broken).transport, Transport::ofi) << broken;
    EXPECT_FALSE(TransportOffer::of(broken).is_decided) << broken;
  }
}

TEST(Transport, IsAgreedOnByAllRanks) {
  const std::vector<Rendezvous> ranks = local_rendezvous(2);
  std::vector<Transport> results(2, Transport::ofi);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        results[static_cast<std::size_t>(rank)] =
            agree_on_transport(ranks[static_cast<std::size_t>(rank)], in_job(rank, 2), true);
      });
    }
  }
  EXPECT_EQ(results, (std::vector<Transport>{Transport::mpi, Transport::mpi}));
}

}  // namespace
}  // namespace tutti::ccl
