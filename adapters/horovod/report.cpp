#include "report.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tutti/config.hpp"

namespace tutti::horovod_adapter {
namespace {

struct Counts {
  std::uint64_t taken = 0;
  std::uint64_t refused = 0;
};

struct Report {
  std::mutex mutex;
  std::string backend;
  std::map<std::string, Counts> operations;
  pid_t process = getpid();
};
/// Never destroyed: tensors may end while the process exits.
Report& report() {
  static auto& only = *new Report;
  return only;
}

std::atomic<bool> is_counting = false;

void print() {
  Report& all = report();
  const std::scoped_lock lock(all.mutex);
  if (getpid() != all.process) return;  // a child may exit with the handlers of its parent
  std::string text = "tutti: tensors of the process of rank 0, taken by tutti in place of Horovod's library\n";
  if (all.operations.empty()) text += "tutti:   none was submitted\n";
  for (const auto& [operation, counts] : all.operations)
    text += "tutti:   " + operation + ": " + std::to_string(counts.taken) + " by " + all.backend + ", " +
            std::to_string(counts.refused) + " refused\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace

void begin_report(int rank, const std::string& backend) {
  if (!Config().flag("TUTTI_SHOW") || rank != 0) return;
  {
    const std::scoped_lock lock(report().mutex);
    report().backend = backend;
  }
  if (!is_counting.exchange(true)) (void)std::atexit(&print);
}

void count_tensors(const char* operation, std::size_t tensors, bool is_taken) noexcept {
  if (!is_counting) return;
  try {
    const std::scoped_lock lock(report().mutex);
    Counts& counts = report().operations[operation];
    (is_taken ? counts.taken : counts.refused) += tensors;
  } catch (...) {
    // Without memory the report lacks the call.
    return;
  }
}

}  // namespace tutti::horovod_adapter
