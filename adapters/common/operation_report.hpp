#pragma once

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

/// Code of several adapters, in headers only, because pip builds that for PyTorch.
namespace tutti::adapters {

/// Counts the operations of this process by their name and by the backend that carried them out, for TUTTI_SHOW=1, and
/// prints them when the process exits, if it has rank 0 of the first communicator. A process that ends by _exit()
/// prints nothing.
class OperationReport final : public Observer {
 public:
  /// Name of an operation of tutti in the interface of the adapter.
  using Name = std::string (*)(OpKind);

  /// `library`: in whose place tutti works. Called before each communicator is made; only the first call has an effect.
  /// Throws Error{config} for a value of TUTTI_SHOW that is no flag.
  static void begin(const char* library, Name name) {
    static std::mutex mutex;
    static bool has_begun = false;
    const std::scoped_lock lock(mutex);
    if (has_begun) return;
    if (Config().flag("TUTTI_SHOW")) {
      // Never destroyed: operations may end while the process exits.
      static auto& report = *new OperationReport(library, name);
      static const auto& handle = *new ObserverHandle(add_observer(report));
      (void)handle;
      (void)std::atexit([] { report.print(); });
    }
    has_begun = true;
  }

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

 private:
  OperationReport(const char* library, Name name) noexcept : library_(library), name_(name) {}

  void print() {
    const std::scoped_lock lock(mutex_);
    if (!is_shown_ || getpid() != process_) return;  // a child may exit with the handlers of its parent
    std::string text =
        "tutti: operations of the process of rank 0, carried out by tutti in place of " + std::string(library_) + "\n";
    if (rows_.empty()) text += "tutti:   none was called\n";
    for (const auto& [key, counts] : rows_) text += line_of(key.first, key.second, counts);
    if (failed_ > 0) text += "tutti:   " + std::to_string(failed_) + " operations ended with an error\n";
    std::fputs(text.c_str(), stderr);
  }

  struct Counts {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
    std::uint64_t emulated = 0;
  };

  [[nodiscard]] std::string line_of(OpKind kind, const std::string& backend, const Counts& counts) const {
    std::array<char, 32> megabytes{};
    std::snprintf(megabytes.data(), megabytes.size(), "%.1f", static_cast<double>(counts.bytes) / 1e6);
    std::string line = "tutti:   " + name_(kind) + ": " + std::to_string(counts.calls) + " by " + backend + " (" +
                       megabytes.data() + " MB)";
    if (counts.emulated > 0) line += ", " + std::to_string(counts.emulated) + " of them emulated";
    return line + "\n";
  }

  const char* library_;
  Name name_;
  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::map<std::pair<OpKind, std::string>, Counts> rows_;
  std::uint64_t failed_ = 0;
  std::optional<std::uint64_t> first_;  ///< the first communicator's key
  bool is_shown_ = false;
};

}  // namespace tutti::adapters
