#include "nccl_report.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "tutti/config.hpp"
#include "tutti/observer.hpp"

namespace tutti::nccl_adapter {
namespace {

/// NCCL's function for an operation of tutti.
std::string function_of(OpKind kind) {
  switch (kind) {
    case OpKind::allreduce:
      return "ncclAllReduce";
    case OpKind::allgather:
      return "ncclAllGather";
    case OpKind::reduce_scatter:
      return "ncclReduceScatter";
    case OpKind::broadcast:
      return "ncclBroadcast";
    case OpKind::reduce:
      return "ncclReduce";
    case OpKind::gather:
      return "ncclGather";
    case OpKind::scatter:
      return "ncclScatter";
    case OpKind::alltoall:
      return "ncclAlltoAll";
    case OpKind::send:
      return "ncclSend";
    case OpKind::recv:
      return "ncclRecv";
    default:
      return std::string(traits(kind).name);  // not an operation of NCCL's interface
  }
}

class Report final : public Observer {
 public:
  using Observer::on;
  void on(const CommunicatorCreated& created) noexcept override {
    const std::scoped_lock lock(mutex_);
    if (!first_) first_ = created.key;
    if (created.key == *first_ && created.rank == 0) is_shown_ = true;
  }

  void on(const OpIssued& issued) noexcept override {
    try {
      const std::scoped_lock lock(mutex_);
      Counts& counts = rows_[{issued.operation.kind, std::string(issued.backend)}];
      ++counts.calls;
      counts.bytes += message_bytes(issued.operation, issued.size);
      if (issued.emulated) ++counts.emulated;
    } catch (...) {
      // Without memory the report lacks the call.
      return;
    }
  }

  void on(const OpCompleted& completed) noexcept override {
    if (completed.error == ErrorCode::ok) return;
    const std::scoped_lock lock(mutex_);
    ++failed_;
  }

  void print() {
    const std::scoped_lock lock(mutex_);
    if (!is_shown_ || getpid() != process_) return;  // a child may exit with the handlers of its parent
    std::string text = "tutti: operations of the process of rank 0, carried out by tutti in place of NCCL\n";
    if (rows_.empty()) text += "tutti:   none was called\n";
    for (const auto& [key, counts] : rows_) text += line_of(key.first, key.second, counts);
    if (failed_ > 0) text += "tutti:   " + std::to_string(failed_) + " operations ended with an error\n";
    std::fputs(text.c_str(), stderr);
  }

 private:
  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::uint64_t emulated = 0;
  };

  static std::string line_of(OpKind kind, const std::string& backend, const Counts& counts) {
    std::array<char, 32> megabytes{};
    std::snprintf(megabytes.data(), megabytes.size(), "%.1f", static_cast<double>(counts.bytes) / 1e6);
    std::string line = "tutti:   " + function_of(kind) + ": " + std::to_string(counts.calls) + " by " + backend + " (" +
                       megabytes.data() + " MB)";
    if (counts.emulated > 0) line += ", " + std::to_string(counts.emulated) + " of them emulated";
    return line + "\n";
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::map<std::pair<OpKind, std::string>, Counts> rows_;
  std::uint64_t failed_ = 0;
  std::optional<std::uint64_t> first_;  ///< the first communicator's key
  bool is_shown_ = false;
};

/// Never destroyed: operations may end while the process exits.
Report& report() {
  static auto& only = *new Report;
  return only;
}

}  // namespace

void begin_report() {
  static std::mutex mutex;
  static bool has_begun = false;
  const std::scoped_lock lock(mutex);
  if (has_begun) return;
  if (Config().flag("TUTTI_SHOW")) {
    static const auto& handle = *new ObserverHandle(add_observer(report()));
    (void)handle;
    (void)std::atexit([] { report().print(); });
  }
  has_begun = true;
}

}  // namespace tutti::nccl_adapter
