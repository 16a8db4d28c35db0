// Jobs that Slurm's srun starts, on two emulated nodes of this machine.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

/// Path of a program of Slurm; empty if it is not installed. A user's PATH may lack /usr/sbin.
std::string find(const std::string& program) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"}) {
    if (access((folder + program).c_str(), X_OK) == 0) return folder + program;
  }
  return {};
}

/// Ports that are free now.
std::array<int, 3> free_ports() {
  std::array<int, 3> sockets{};
  std::array<int, 3> ports{};
  for (std::size_t i = 0; i < ports.size(); ++i) {
    sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (bind(sockets[i], reinterpret_cast<sockaddr*>(&address), length) == 0 &&
        getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &length) == 0) {
      ports[i] = ntohs(address.sin_port);
    }
  }
  for (const int descriptor : sockets) close(descriptor);
  return ports;
}

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string text = name.data();
  return text.substr(0, text.find('.'));
}

/// A cluster of two nodes with the names 127.0.0.1 and 127.0.0.2, so that the names of the nodes are addresses of this
/// machine. Its files are in a folder of its own; the destructor ends it.
class Cluster {
 public:
  Cluster() {
    const std::array<int, 3> ports = free_ports();
    const std::string here = folder_.path().string();
    std::ostringstream text;
    text << "ClusterName=tutti\nSlurmctldHost=" << host_name() << "(127.0.0.1)\nSlurmctldPort=" << ports[0]
         << "\nSlurmUser=" << geteuid() << "\nSlurmdUser=" << geteuid()
         << "\nAuthType=auth/none\nCredType=cred/none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
            "SelectType=select/linear\nSchedulerType=sched/builtin\nMpiDefault=none\nReturnToService=2\n"
            "SlurmdParameters=config_overrides\nSlurmctldDebug=error\nSlurmdDebug=error\nStateSaveLocation="
         << here << "/state\nSlurmdSpoolDir=" << here << "/spool-%n\nTmpFS=" << here
         << "/tmp-%n\nSlurmctldPidFile=" << here << "/slurmctld.pid\nSlurmdPidFile=" << here << "/slurmd-%n.pid\n";
    for (const int node : {1, 2}) {
      const std::string name = "127.0.0." + std::to_string(node);
      std::filesystem::create_directories(folder_.path() / ("tmp-" + name));
      text << "NodeName=" << name << " NodeHostname=" << host_name()
           << " NodeAddr=127.0.0.1 Port=" << ports[static_cast<std::size_t>(node)] << " CPUs=4 State=UNKNOWN\n";
    }
    text << "PartitionName=all Nodes=127.0.0.[1-2] Default=YES State=UP\n";
    std::filesystem::create_directories(folder_.path() / "state");
    folder_.add("slurm.conf", text.str());
    daemons_.push_back(std::make_unique<Subprocess>(std::vector{find("slurmctld"), std::string("-D")}, variables({})));
    for (const char* node : {"127.0.0.1", "127.0.0.2"}) {
      daemons_.push_back(std::make_unique<Subprocess>(
          std::vector<std::string>{find("slurmd"), "-D", "-N", node, "-d", find("slurmstepd")}, variables({})));
    }
  }
  ~Cluster() {
    for (const auto& daemon : daemons_) ::kill(daemon->pid(), SIGTERM);
    for (const auto& daemon : daemons_) (void)daemon->wait(std::chrono::steady_clock::now() + 20s);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Empty once both nodes wait for jobs, else the daemons' output.
  std::string wait_until_ready() {
    std::string seen;
    for (const auto deadline = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < deadline;) {
      seen = run({find("sinfo"), "-h", "-o", "%T %D"}).output;
      if (seen == "idle 2\n") return {};
      std::this_thread::sleep_for(50ms);
    }
    for (const auto& daemon : daemons_) {
      (void)daemon->wait_for_output("no such text", std::chrono::steady_clock::now() + 100ms);
      seen += daemon->output();
    }
    return seen;
  }

  CommandResult run(const std::vector<std::string>& command, const Variables& more = {}) const {
    return run_command(command, variables(more), 100s);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::string add(const std::string& name, const std::string& text) const {
    return folder_.add(name, text);
  }

 private:
  /// This test itself may run in a step: its tasks must not inherit that.
  [[nodiscard]] Variables variables(Variables more) const {
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_STEP_ID", "SLURM_STEPID", "SLURM_NTASKS",
                             "SLURM_NPROCS", "SLURM_PROCID", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "RANK",
                             "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TUTTI_STORE", "TUTTI_JOB_SECRET"}) {
      more.try_emplace(name, "");
    }
    more["SLURM_CONF"] = folder_.file("slurm.conf");
    return more;
  }

  TemporaryFolder folder_;
  std::vector<std::unique_ptr<Subprocess>> daemons_;
};

class Srun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (const char* program : {"slurmctld", "slurmd", "slurmstepd", "srun", "sbatch", "sinfo"}) {
      if (find(program).empty()) {
        absent_ = std::string(program) + " is not installed (Debian: slurm-wlm)";
        return;
      }
    }
    cluster_ = new Cluster;
    problem_ = cluster_->wait_until_ready();
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void SetUp() override {
    if (!absent_.empty()) GTEST_SKIP() << absent_;
    ASSERT_EQ(problem_, "") << "the nodes did not become ready";
  }

  static CommandResult srun(std::vector<std::string> options, const Variables& variables = {}) {
    options.insert(options.begin(), {find("srun"), "--quiet", "--kill-on-bad-exit=0"});
    options.emplace_back(TUTTI_TEST_RANKS_PROGRAM);
    return cluster_->run(options, variables);
  }
  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  static void expect_job_of(int size, const CommandResult& result, int times = 1) {
    EXPECT_EQ(result.code, 0) << result.output;
    for (int rank = 0; rank < size; ++rank) {
      const std::string line =
          "rank " + std::to_string(rank) + " of " + std::to_string(size) + ", sum " + std::to_string(size) + "\n";
      EXPECT_EQ(count(result.output, line), times) << line << result.output;
    }
  }

  static inline Cluster* cluster_ = nullptr;
  static inline std::string absent_;
  static inline std::string problem_;
};

TEST_F(Srun, TasksOnOneNodeMeet) { expect_job_of(3, srun({"-N1", "-n3"})); }

TEST_F(Srun, TasksOnTwoNodesMeetWithASecret) {
  expect_job_of(4, srun({"-N2", "-n4"}, {{"TUTTI_JOB_SECRET", make_secret()}}));
}

TEST_F(Srun, TasksOnTwoNodesNeedASecret) {
  const CommandResult result = srun({"-N2", "-n4"});
  EXPECT_NE(result.code, 0);
  EXPECT_EQ(count(result.output, "runs on several hosts (SLURM_STEP_NODELIST=127.0.0.[1-2])"), 4) << result.output;
  EXPECT_EQ(count(result.output, "export TUTTI_JOB_SECRET=$(openssl rand -hex 32)"), 4) << result.output;
}

// srun sets the variables of a launcher, but its library is not there.
TEST_F(Srun, TasksMeetWithoutTheLibraryOfTheirLauncher) {
  expect_job_of(2, srun({"-N1", "-n2", "--mpi=pmi2"}, {{"TUTTI_MPI_LIBRARY", "/no/such/library"}}));
}

TEST_F(Srun, TasksCanBeJobsOfTheirOwn) {
  const CommandResult result = srun({"-N2", "-n4"}, {{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  expect_job_of(1, result, 4);
}

TEST_F(Srun, ABatchScriptIsOneRankAndItsStepsStayApart) {
  const std::string program = TUTTI_TEST_RANKS_PROGRAM;
  const std::string step = find("srun") + " --quiet --overlap -N1 -n2 " + program;
  const std::string script =
      cluster_->add("batch.sh", "#!/bin/sh\n" + program + "\n" + step + " &\n" + step + " || exit 1\nwait\n");
  const CommandResult batch =
      cluster_->run({find("sbatch"), "--quiet", "--wait", "-N1", "-n2", "-o", cluster_->file("out"), script});
  EXPECT_EQ(batch.code, 0) << batch.output;
  std::stringstream output;
  output << std::ifstream(cluster_->file("out")).rdbuf();
  expect_job_of(1, {0, false, output.str()});
  expect_job_of(2, {0, false, output.str()}, 2);
}

}  // namespace
}  // namespace tutti::test
