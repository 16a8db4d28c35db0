#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "native_ranks.hpp"
#include "tutti/allocate.hpp"

namespace tutti::test {

using namespace std::chrono_literals;

/// A counter that this process and its children share.
class SharedCount {
 public:
  SharedCount() {
    void* const page = mmap(nullptr, sizeof(*count_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::runtime_error("mmap");
    count_ = new (page) std::atomic<int>(0);
  }
  ~SharedCount() { munmap(count_, sizeof(*count_)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  void add(int more = 1) const noexcept { *count_ += more; }
  [[nodiscard]] int get() const noexcept { return *count_; }
  /// Waits until the count is at least `least`.
  void wait_for(int least) const {
    while (get() < least) std::this_thread::sleep_for(1ms);
  }

 private:
  std::atomic<int>* count_ = nullptr;
};

/// A forked process and the pipe with its text.
struct Child {
  pid_t pid;
  int pipe;
};

inline std::string read_all(int fd) {
  std::string text;
  std::array<char, 512> buffer = {};
  for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  close(fd);
  return text;
}

/// Distribution of the ranks over processes.
struct ProcessOptions {
  int threads = 1;                        // ranks per process
  std::function<void(int)> prepare = {};  // runs in each process before its ranks join
};

/// Ranks that are processes, or threads of several processes; `body` returns the text of its rank. The text of a killed
/// rank is empty.
class Processes {
 public:
  using Body = std::function<std::string(NativeRank&)>;
  Processes(int size, const Config& config, const Body& body, const ProcessOptions& options = {})
      : size_(size), secret_(make_secret()), server_("unix:tutti-native-test-" + secret_.substr(0, 16), secret_) {
    limit_test_time();
    for (int first = 0; first < size; first += options.threads) {
      std::array<int, 2> ends = {};
      if (pipe(ends.data()) != 0) throw std::runtime_error("pipe");
      const pid_t pid = fork();
      if (pid == 0) {
        close(ends[0]);
        alarm(240);
        if (options.prepare) options.prepare(first);
        const std::string text = run_ranks(first, options.threads, size, config, body);
        const ssize_t written = write(ends[1], text.data(), text.size());
        _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
      }
      close(ends[1]);
      children_.push_back({pid, ends[0]});
    }
  }

  [[nodiscard]] pid_t pid(int process) const { return children_[static_cast<std::size_t>(process)].pid; }

  /// Waits until every rank has its communicator: the others would wait for a rank that is killed before that.
  void wait_until_joined() const { joined_.wait_for(size_); }

  // Waits for the processes; returns the concatenated texts of the ranks of each process.
  [[nodiscard]] std::vector<std::string> join() {
    std::vector<std::string> said;
    for (const Child& child : children_) {
      said.push_back(read_all(child.pipe));
      waitpid(child.pid, nullptr, 0);
    }
    return said;
  }

 private:
  std::string run_ranks(int first, int count, int size, const Config& config, const Body& body) {
    std::vector<std::string> said(static_cast<std::size_t>(count));
    std::vector<std::thread> others;
    for (int k = 1; k < count; ++k) {
      others.emplace_back([&, k] { said[static_cast<std::size_t>(k)] = run(first + k, size, config, body); });
    }
    said[0] = run(first, size, config, body);
    for (std::thread& other : others) other.join();
    std::string all;
    for (const std::string& text : said) all += text;
    return all;
  }

  std::string run(int rank, int size, const Config& config, const Body& body) {
    std::string said;
    const Rendezvous rendezvous(rank, size, connect_store(server_.address(), secret_, 60s));
    std::vector<std::int64_t> pids;
    for (const std::string& pid : rendezvous.allgather("pids", std::to_string(getpid()))) {
      pids.push_back(std::stoll(pid));
    }
    const std::string error =
        run_native_rank(rendezvous, native_peers(rank, size, size == 1, pids), config, [&](NativeRank& native) {
          joined_.add();
          said = body(native);
        });
    return error.empty() ? said : "error: " + error;
  }

  int size_;
  SharedCount joined_;
  std::string secret_;
  StoreServer server_;
  std::vector<Child> children_;
};

/// Hides the other processes' files in /proc from this process, as for a process in another container.
inline bool hide_proc() {
  return unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

/// Whether this user has the right to do that.
inline bool can_hide_proc() {
  const pid_t child = fork();
  if (child == 0) _exit(hide_proc() ? 0 : 77);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0;
}

/// Whether this process has mapped the allocation file of another process.
inline bool has_mapped_a_peer() {
  const auto own = allocate<int>(1);  // makes sure that the own file is mapped and counted, too
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> files;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:tutti.allocate") == std::string::npos) continue;
    std::istringstream words(line);
    std::string range, mode, offset, device, inode;
    words >> range >> mode >> offset >> device >> inode;
    files.insert(inode);
  }
  return files.size() > 1;
}

}  // namespace tutti::test
