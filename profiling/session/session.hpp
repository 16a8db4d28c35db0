#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "session/descriptions.hpp"
#include "session/process_lock.hpp"
#include "session/session_config.hpp"
#include "session/session_file.hpp"
#include "session/thread_table.hpp"

namespace tutti::profiling {

/// The part of a process's state that a forked child must not inherit. It lies in a page that the kernel wipes in a
/// child, however the child is made.
struct ForkPage {
  std::atomic<std::uint32_t> generation;  ///< of the file that this process writes; 0: it has none yet
  ProcessLock lock;
};

/// The session of this process: its file, its descriptions and the tables of its threads. One object, which is never
/// destroyed. All functions but describe() and generation() belong under a SlowPath.
class Session {
 public:
  /// Reads the environment when the library is loaded; the file follows with the first record.
  void load() noexcept;
  [[nodiscard]] std::uint32_t generation() const noexcept { return page_->generation.load(std::memory_order_relaxed); }
  [[nodiscard]] const SessionFile& file() const noexcept { return file_; }
  [[nodiscard]] const SessionConfig& config() const noexcept { return config_; }
  [[nodiscard]] bool timeline() const noexcept { return config_.timeline; }

  /// Number of a description, which is added if it is new. Takes the lock itself; `may_add`: false where this thread
  /// may hold it.
  [[nodiscard]] std::uint32_t describe(const Description& wanted, bool may_add) noexcept;
  /// Number of a description that is there, or 0; see Descriptions::find().
  [[nodiscard]] std::uint32_t look_up(const Description& wanted, std::uint32_t& hint) const noexcept {
    return descriptions_.find(wanted, hint);
  }
  [[nodiscard]] std::uint32_t described(layout::DescriptionType type) const noexcept {
    return descriptions_.count(type);
  }

  /// Opens the file if this process has none; false if there is none to be had.
  [[nodiscard]] bool open_file() noexcept;
  /// A table for the calling thread, or nullptr.
  [[nodiscard]] ThreadTable* attach() noexcept;
  void detach(ThreadTable* table) noexcept;
  [[nodiscard]] layout::Row* add_row(ThreadTable& table, const layout::RowKey& key) noexcept;
  [[nodiscard]] bool add_events(ThreadTable& table) noexcept;
  /// Whether there is no room, so that looking for it can be saved.
  [[nodiscard]] bool is_full() const noexcept { return full_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool has_no_events() const noexcept { return events_full_.load(std::memory_order_relaxed); }
  void count_dropped() noexcept;

  void lock_for_fork() noexcept { page_->lock.lock(); }
  void unlock_after_fork() noexcept { page_->lock.unlock(); }
  /// In a forked child, where the kernel did not wipe the page.
  void begin_child() noexcept {
    if (!wiped_) new (page_) ForkPage{};
  }

  [[nodiscard]] bool start() noexcept;
  void stop() noexcept;
  void flush() noexcept;
  void set_rank(int rank, int size) noexcept;
  /// Whether look_around() is due. Needs no lock.
  [[nodiscard]] bool should_look(std::uint64_t now) const noexcept {
    return now > looked_.load(std::memory_order_relaxed) + kLookEvery;
  }
  /// Brings the peak of resident memory up to date.
  void look_around() noexcept;
  void end() noexcept;
  [[nodiscard]] const char* problem() const noexcept;
  /// Keeps a literal as the problem if there is none.
  void add_problem(const char* problem) noexcept;

 private:
  friend class SlowPath;
  static constexpr std::uint64_t kLookEvery = 1'000'000'000;  // ns
  void leave_parent() noexcept;
  void write_header() noexcept;
  void write_problem() noexcept;
  void note(const char* problem) noexcept;
  void read_control() noexcept;
  void measure_cost() noexcept;
  void publish_descriptions() noexcept;
  [[nodiscard]] std::uint32_t balance(const layout::RowKey& key) noexcept;
  [[nodiscard]] ThreadTable* new_table() noexcept;
  [[nodiscard]] bool make_folder() noexcept;
  [[nodiscard]] bool rank_is_wanted() const noexcept;
  void apply() noexcept;

  ForkPage first_page_{};
  ForkPage* page_ = &first_page_;
  SessionConfig config_;
  SessionFile file_;
  Descriptions descriptions_;
  std::uint32_t published_ = 0;  // bytes of the descriptions that are in the file
  layout::BlockHeader* description_block_ = nullptr;
  layout::BlockHeader* balance_block_ = nullptr;
  std::uint32_t generations_ = 0;
  std::uint32_t tables_ = 0;
  ThreadTable* ended_tables_ = nullptr;
  char* pool_ = nullptr;  // of tables
  std::size_t pool_left_ = 0;
  std::uint64_t cost_ps_ = 0;
  std::atomic<const char*> problem_{nullptr};
  std::atomic<std::uint64_t> looked_{0};
  std::atomic<std::uint64_t> early_dropped_{0};  // before there was a file
  std::atomic<bool> full_{false};
  std::atomic<bool> events_full_{false};
  bool wiped_ = false;  // the kernel wipes the page in children
  bool paused_ = false;
  bool failed_ = false;
  bool rank_told_ = false;
};

extern constinit Session session;

/// Holds the session's lock, keeps `errno`, and keeps the thread from being cancelled, which would leave the lock
/// behind.
class SlowPath {
 public:
  SlowPath() noexcept;
  ~SlowPath();
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

 private:
  ForkPage* page_;
  int error_;
  int cancel_ = 0;
};

}  // namespace tutti::profiling
