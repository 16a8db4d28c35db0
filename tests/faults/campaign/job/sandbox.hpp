#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::test::campaign {

/// Private /dev/shm and /tmp for the processes of one job: every file that is left there belongs to the job. Needs the
/// right to mount; without it, is_private() is false and the job shares those of the machine.
class Sandbox {
 public:
  /// `shm_bytes`: size of /dev/shm.
  explicit Sandbox(std::uint64_t shm_bytes);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  [[nodiscard]] bool is_private() const noexcept { return holder_ > 0; }
  /// In a forked child, before exec: enters the sandbox. Async-signal-safe. False with errno.
  [[nodiscard]] bool enter() const noexcept;
  /// A path of the machine as the processes in the sandbox see it.
  [[nodiscard]] std::string seen_inside(const std::string& path) const;
  /// Files in the private folders; in the shared ones, those that were not there before and are named after tutti.
  [[nodiscard]] std::vector<std::string> files_left() const;

 private:
  pid_t holder_ = -1;
  bool has_tmp_ = false;             ///< of its own: not where the program is below /tmp
  std::string space_;                ///< "/proc/PID/ns/mnt" of the process that holds the mounts
  std::vector<std::string> before_;  ///< without a sandbox: the files of the machine
};

}  // namespace tutti::test::campaign
