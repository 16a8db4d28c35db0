#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "prof/job_place.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// The folder in which the instances of `tutti prof` of one job meet, and the session's folder, in which the profiled
/// processes write.
///
/// Each instance claims its rank by a file that it keeps locked while it lives; a rank that has ended is marked. One
/// instance reports: the lowest rank that came. A folder whose instances are all dead is removed by the next start of
/// `tutti prof` on the host.
class SessionFolder {
 public:
  /// Creates the folder or joins that of the job. `kept`: path of the session where the user named one. Throws
  /// std::runtime_error with the reason.
  SessionFolder(const JobPlace& place, const std::string& kept);
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& session() const noexcept { return session_; }

  /// State of the ranks as their files tell it.
  struct Ranks {
    std::vector<int> running;  ///< came and have not ended
    std::vector<int> dead;     ///< their instances died before their commands ended
    std::vector<int> absent;   ///< never came
    [[nodiscard]] bool complete() const noexcept { return running.empty() && absent.empty(); }
  };
  [[nodiscard]] Ranks look() const;

  /// Marks this rank as ended.
  void mark_ended() noexcept;
  /// Whether this instance reports as things are: no lower rank came that is alive or has reported.
  [[nodiscard]] bool reports() const;
  /// Takes the task of reporting; false if another instance has it already or the job's folder is gone.
  [[nodiscard]] bool take_report() noexcept;
  /// Removes everything but a kept session. Only for the instance that reports.
  void remove() noexcept;
  /// Removes the remains if that process was killed within remove().
  void finish_removal_of(pid_t process) noexcept;
  /// Moves the session out of the temporary folder. Returns its new path.
  std::filesystem::path keep_at(const std::filesystem::path& path);

 private:
  void enter(const std::filesystem::path& base, const std::string& stem, const std::string& kept);
  static void create(const std::filesystem::path& folder, const std::string& kept);
  [[nodiscard]] bool claim();
  void read_session_path();

  JobPlace place_;
  std::filesystem::path folder_;
  std::filesystem::path session_;
  bool is_kept_ = false;
  spi::FileDescriptor claim_;
};

/// Folder below which sessions are kept without a path of the user's.
[[nodiscard]] std::filesystem::path kept_sessions_folder();
/// Remembers a kept session as the latest one, for `tutti prof --replay`; errors are ignored.
void remember_latest(const std::filesystem::path& session) noexcept;
/// The latest kept session. Throws UsageError if there is none.
[[nodiscard]] std::filesystem::path latest_session();

/// Removes folders below `base` that instances of this user left behind when they were killed.
void sweep_old_sessions(const std::filesystem::path& base) noexcept;

}  // namespace tutti::tools
