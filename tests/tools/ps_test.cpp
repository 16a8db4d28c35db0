// `tutti ps` and `tutti doctor` on a job of three ranks, one of which does not come.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

/// The number after `text` in the output of the job.
std::string number_after(const std::string& output, const std::string& text) {
  const std::size_t at = output.find(text);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + text.size();
  return output.substr(begin, output.find('.', begin) - begin);
}

/// A job whose rank 2 waits for a file; ends when that file is there.
class WaitingJob {
 public:
  explicit WaitingJob(const std::string& backend, const Words& more = {})
      : job_(tutti(words(backend, folder_.file("go"), more))) {}
  ~WaitingJob() {
    if (late_ > 0) ::kill(late_, SIGCONT);
  }
  WaitingJob(const WaitingJob&) = delete;
  WaitingJob& operator=(const WaitingJob&) = delete;

  /// Whether all ranks say that they are there.
  [[nodiscard]] bool begins() {
    for (int rank = 0; rank < 3; ++rank) {
      if (!job_.wait_for_output("rank " + std::to_string(rank) + " pid ", soon(100s))) return false;
    }
    return job_.wait_for_output(".\n", soon());
  }
  [[nodiscard]] std::string pid_of(int rank) const {
    return number_after(job_.output(), "rank " + std::to_string(rank) + " pid ");
  }
  /// Looks with `tutti ps` until the rows of the job are as asked for.
  [[nodiscard]] Json wait_for_rows(const std::function<bool(const Json&)>& is_right) const {
    Json ranks;
    for (const auto deadline = soon(100s); std::chrono::steady_clock::now() < deadline;) {
      const CommandResult result = run_tutti({"ps", pid_of(0), "--json"});
      const Json document = Json::parse(result.output, nullptr, false);
      if (result.code == 0 && !document.is_discarded()) {
        ranks = document["jobs"][0]["ranks"];
        if (is_right(ranks)) return ranks;
      }
    }
    ADD_FAILURE() << "the ranks did not come as far as they should: " << ranks.dump(1);
    return ranks;
  }
  void stop_late() {
    late_ = std::stoi(pid_of(2));
    ::kill(late_, SIGSTOP);
    for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline;) {
      const std::string stat = read_file("/proc/" + pid_of(2) + "/stat");
      if (stat.find(") T ") != std::string::npos) return;
      std::this_thread::sleep_for(10ms);
    }
    ADD_FAILURE() << "rank 2 did not stop";
  }
  /// Lets rank 2 go on; the exit code of the job.
  [[nodiscard]] int finish() {
    std::ofstream(folder_.file("go")).close();
    if (late_ > 0) ::kill(late_, SIGCONT);
    const auto end = job_.wait(soon(100s));
    return end ? end->code : -1;
  }
  [[nodiscard]] const std::string& output() const { return job_.output(); }

 private:
  static Words words(const std::string& backend, const std::string& file, const Words& more) {
    Words all = {"run", "-n", "3", "--backend", backend, "--timeout", "200s", "--", TUTTI_TEST_RANKS, file};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  TemporaryFolder folder_;
  Subprocess job_;
  pid_t late_ = 0;
};

const Json* row_of(const Json& ranks, int rank, const std::string& communicator) {
  for (const Json& row : ranks) {
    if (row["rank"] == rank && row["communicator"] == communicator) return &row;
  }
  return nullptr;
}

/// Ranks 0 and 1 are in the last allreduce, rank 2 is not.
bool two_wait(const Json& ranks) {
  for (const int rank : {0, 1}) {
    const Json* row = row_of(ranks, rank, "world");
    if (row == nullptr || (*row)["entered"] != 5 || !(*row)["inside"]) return false;
  }
  return row_of(ranks, 2, "world") != nullptr;
}

/// Beside that, rank 0 has begun to sleep, which it does after a while: then it shows since when it waits.
bool two_wait_and_one_sleeps(const Json& ranks) {
  return two_wait(ranks) && (*row_of(ranks, 0, "world"))["seconds"].is_number();
}

class WhoWaits : public testing::TestWithParam<const char*> {};

TEST_P(WhoWaits, TheStoppedRankIsNamed) {
  const std::string backend = GetParam();
  if (const CommandResult there =
          run_tutti({"run", "-n", "3", "--backend", backend, "--timeout", "90s", "--", TUTTI_TEST_RANKS, "/"});
      there.code != 0) {
    TUTTI_SKIP_OR_FAIL(backend, there.output);
  }
  WaitingJob job(backend);
  ASSERT_TRUE(job.begins()) << job.output();
  const Json ranks = job.wait_for_rows(two_wait);
  EXPECT_EQ(ranks.size(), 6U) << ranks.dump(1);  // three ranks of two communicators
  const Json& waiting = *row_of(ranks, 0, "world");
  EXPECT_EQ(waiting["left"], 4);
  EXPECT_EQ(waiting["operation"], "allreduce(sum) #5 of 16 float32 (64 B)");
  EXPECT_EQ(std::to_string(waiting["pid"].get<int>()), job.pid_of(0));
  EXPECT_GT(waiting["resident_bytes"], 0);
  EXPECT_TRUE(waiting["device_memory"].is_array());
  const Json& late = *row_of(ranks, 2, "world");
  EXPECT_EQ(late["entered"], 4);
  EXPECT_EQ(late["left"], 4);
  EXPECT_FALSE(late["inside"]);
  const Json* second = row_of(ranks, 2, "second");
  ASSERT_NE(second, nullptr);
  EXPECT_EQ((*second)["left"], 1);

  job.stop_late();
  const CommandResult result = run_tutti({"doctor", job.pid_of(1)});
  EXPECT_EQ(result.code, 1) << result.output;
  const std::string verdict = result.output.substr(0, result.output.find('\n'));
  for (const std::string& part :
       {"rank 2 (pid " + job.pid_of(2) + ") is stopped by a signal", "kill -CONT " + job.pid_of(2),
        std::string("1 operation behind"), std::string("ranks 0 and 1 wait for it in allreduce(sum) #5")}) {
    EXPECT_NE(verdict.find(part), std::string::npos) << part << " in:\n" << result.output;
  }
  const CommandResult as_json = run_tutti({"doctor", job.pid_of(1), "--json"});
  EXPECT_EQ(as_json.code, 1);
  const Json problem = Json::parse(as_json.output)["jobs"][0]["problems"][0];
  EXPECT_EQ(problem["kind"], "stopped");
  EXPECT_EQ(problem["rank"], 2);
  EXPECT_EQ(problem["operations_behind"], 1);
  EXPECT_EQ(job.finish(), 0) << job.output();
}

INSTANTIATE_TEST_SUITE_P(Backends, WhoWaits, testing::Values("native", "mpi-openmpi", "ccl"), [](const auto& row) {
  std::string name = row.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Doctor, NamesTheRankThatLacksATensor) {
  WaitingJob job("horovod:native", {"tensors"});
  ASSERT_TRUE(job.begins()) << job.output();
  const Json ranks = job.wait_for_rows([](const Json& rows) {
    return std::ranges::count_if(rows, [](const Json& row) { return row["stall"].is_string(); }) == 2;
  });
  for (const int rank : {0, 1}) {
    const Json* row = row_of(ranks, rank, "world");
    ASSERT_NE(row, nullptr);
    EXPECT_EQ((*row)["stall"], "rank 2 has not submitted 'gradient'");
  }
  const CommandResult table = run_tutti({"ps", job.pid_of(0)});
  EXPECT_NE(table.output.find("stalled: rank 2"), std::string::npos) << table.output;
  const CommandResult result = run_tutti({"doctor", job.pid_of(0), "--json"});
  EXPECT_EQ(result.code, 1) << result.output;
  const Json problem = Json::parse(result.output)["jobs"][0]["problems"][0];
  EXPECT_EQ(problem["kind"], "stalled");
  EXPECT_EQ(problem["rank"], 2);
  EXPECT_EQ(problem["text"],
            "tensors of communicator world wait on ranks 0 and 1: rank 2 has not submitted 'gradient'");
  EXPECT_EQ(job.finish(), 0) << job.output();
  EXPECT_EQ(run_tutti({"doctor", job.pid_of(0)}).code, 2) << "the job has ended";
}

TEST(Ps, ForkedChildIsNoRankAndTextShowsTheTable) {
  WaitingJob job("native", {"fork"});
  ASSERT_TRUE(job.begins()) << job.output();
  // The native engine knows since when it waits.
  const Json ranks = job.wait_for_rows(two_wait_and_one_sleeps);
  const std::string child = number_after(job.output(), "child ");
  ASSERT_FALSE(child.empty());
  for (const Json& row : ranks) EXPECT_NE(std::to_string(row["pid"].get<int>()), child);
  EXPECT_EQ(ranks.size(), 6U);

  const CommandResult table = run_tutti({"ps", job.pid_of(0)});
  EXPECT_EQ(table.code, 0);
  for (const char* part : {"Job ", "allreduce(sum) #5 of", "second", "native", "idle", "device memory"}) {
    EXPECT_NE(table.output.find(part), std::string::npos) << table.output;
  }
  const CommandResult stacks = run_tutti({"ps", job.pid_of(0), "--stacks"});
  EXPECT_NE(stacks.output.find("Stack of rank 2, pid " + job.pid_of(2)), std::string::npos) << stacks.output;
  const CommandResult verdict = run_tutti({"doctor", job.pid_of(0)});
  EXPECT_EQ(verdict.code, 1) << verdict.output;
  EXPECT_NE(verdict.output.find("rank 2 (pid " + job.pid_of(2) + ") is 1 operation behind"), std::string::npos)
      << verdict.output;
  EXPECT_EQ(job.finish(), 0) << job.output();
}

TEST(Ps, UnknownJobsAndOptionsAreNamed) {
  const CommandResult unknown = run_tutti({"doctor", "no-such-job"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.output.find("no-such-job"), std::string::npos) << unknown.output;
  EXPECT_EQ(run_tutti({"ps", "no-such-job"}).code, 2);
  EXPECT_EQ(run_tutti({"doctor", "--for", "0"}).code, 2);
  EXPECT_NE(run_tutti({"doctor", "--help"}).output.find("Exit codes:"), std::string::npos);
  EXPECT_NE(run_tutti({"ps", "--help"}).output.find("--stacks"), std::string::npos);
}

TEST(Ps, MemoryOfAStrangerIsNotBelieved) {
  const int board = memfd_create("tutti-board", MFD_CLOEXEC);
  ASSERT_GE(board, 0);
  std::mt19937_64 random(12);  // NOLINT: the same bytes in every run
  std::vector<std::uint64_t> bytes(40000);
  for (std::uint64_t& word : bytes) word = random();
  ASSERT_GT(write(board, bytes.data(), bytes.size() * sizeof bytes[0]), 0);
  for (const char* command : {"ps", "doctor"}) {
    const CommandResult result = run_tutti({command});
    EXPECT_TRUE(result.code == 0 || (result.code == 1 && std::string(command) == "doctor")) << result.output;
    EXPECT_NE(result.output.find("process " + std::to_string(getpid()) + ": its state is not of tutti"),
              std::string::npos)
        << result.output;
  }
  close(board);
}

}  // namespace
}  // namespace tutti::test
