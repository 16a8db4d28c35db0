#include "faults/campaign/job/workers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "faults/campaign/job/processes.hpp"
#include "faults/campaign/verdict/journal.hpp"

namespace tutti::test::campaign {
namespace {

volatile std::sig_atomic_t is_interrupted = 0;

void on_interrupt(int) { is_interrupted = 1; }

/// The number of the next run, shared by all workers.
class SharedCounter {
 public:
  SharedCounter() {
    void* memory =
        mmap(nullptr, sizeof(std::atomic<std::size_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    next_ = new (memory) std::atomic<std::size_t>(0);
  }
  ~SharedCounter() { munmap(next_, sizeof(*next_)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;

  std::size_t take() { return next_->fetch_add(1); }

 private:
  std::atomic<std::size_t>* next_;
};

void write_all(int file, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(file, text.data() + at, text.size() - at);
    if (count < 0) std::_Exit(1);
    at += static_cast<std::size_t>(count);
  }
}

/// The journal's line of a run. A busy machine may delay a job by a second, but not in three attempts: the verdict late
/// needs all of them.
std::string carry_out_one(const RunPlan& plan, const StallClock& stalls) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    const JobResult result = run_job(plan, stalls);
    const Judgement judgement = judge(plan, result, stalls);
    if (judgement.verdict == Verdict::late && attempt < kAttempts) continue;
    return journal_line(plan, result, judgement, attempt);
  }
}

/// The life of a worker. A thread waits for SIGTERM, which comes from the campaign or, if that is gone, from the
/// kernel.
[[noreturn]] void work(const std::vector<RunId>& runs, SharedCounter& counter, int output, pid_t campaign) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // Orphans of a job become children of the worker, which can then wait for them.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (getppid() != campaign) std::_Exit(1);
  std::signal(SIGINT, SIG_IGN);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  std::jthread guard([&] {
    int signal = 0;
    sigwait(&ending, &signal);
    discard_current_job();
    std::_Exit(1);
  });
  int code = 0;
  try {
    const StallClock stalls;
    for (std::size_t i = counter.take(); i < runs.size(); i = counter.take()) {
      write_all(output, carry_out_one(make_run_plan(runs[i]), stalls) + "\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "campaign: a worker failed: %s\n", error.what());
    code = 1;
  }
  std::_Exit(code);
}

struct Worker {
  pid_t pid;
  int pipe;
  std::string text;
};

Worker start_worker(const std::vector<RunId>& runs, SharedCounter& counter) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::bad_alloc();
  const pid_t campaign = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    work(runs, counter, ends[1], campaign);
  }
  close(ends[1]);
  return {pid, ends[0], {}};
}

/// Reads what a worker has written and hands on the whole lines. False at the end of the worker or of the campaign.
bool drain(Worker& worker, const std::function<bool(const std::string&)>& on_line, bool& goes_on) {
  char buffer[1 << 16];
  const ssize_t count = read(worker.pipe, buffer, sizeof(buffer));
  if (count <= 0) return false;
  worker.text.append(buffer, static_cast<std::size_t>(count));
  for (std::size_t end = 0; goes_on && (end = worker.text.find('\n')) != std::string::npos;) {
    goes_on = on_line(worker.text.substr(0, end));
    worker.text.erase(0, end + 1);
  }
  return true;
}

}  // namespace

bool carry_out(const std::vector<RunId>& runs, int workers, const std::function<bool(const std::string&)>& on_line) {
  is_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: poll() returns
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  SharedCounter counter;
  std::vector<Worker> all;
  for (int i = 0; i < workers; ++i) all.push_back(start_worker(runs, counter));
  bool goes_on = true;
  std::size_t open = all.size();
  while (goes_on && open > 0) {
    std::vector<pollfd> files;
    for (const Worker& worker : all) files.push_back({worker.pipe, POLLIN, 0});
    if (poll(files.data(), files.size(), 1000) < 0 || is_interrupted != 0) goes_on = is_interrupted == 0;
    for (std::size_t i = 0; i < all.size() && goes_on; ++i) {
      if (files[i].revents == 0 || drain(all[i], on_line, goes_on)) continue;
      close(all[i].pipe);
      all[i].pipe = -1;
      --open;
    }
  }
  bool all_well = goes_on;
  for (Worker& worker : all) {
    if (!goes_on) kill(worker.pid, SIGTERM);
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (status != 0) all_well = false;
    if (worker.pipe >= 0) close(worker.pipe);
  }
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  return all_well;
}

}  // namespace tutti::test::campaign
