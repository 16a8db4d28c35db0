#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/part_file.hpp"
#include "record/record.hpp"

namespace tutti::replay {

/// An operation as a source sees it: RecordedOperation without copies.
struct SeenOperation {
  OpKind kind = OpKind::barrier;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  bool in_place = false;
  bool async = false;
  std::uint32_t communicator = 0;  ///< number in the part
  std::int32_t root = 0;
  std::int32_t tag = 0;
  std::uint64_t count = 0;
  double prescale = 1;
  std::span<const std::uint64_t> in = {};
  std::span<const std::uint64_t> out = {};
  std::string_view label = {};
};

/// Writes what one rank does to its part of a record. Thread-safe. In a child made by fork() it does nothing. Times are
/// nanoseconds of CLOCK_MONOTONIC; ids are numbers of calls that the source gives, each once.
class RankWriter {
 public:
  static constexpr std::size_t kDefaultLimit = std::size_t{1} << 30;

  /// Creates `folder`/`source`rank-R-PID.part. Throws tutti::Error{system}.
  RankWriter(const std::string& folder, int rank, int ranks, std::size_t limit = kDefaultLimit,
             const std::string& source = "");
  ~RankWriter() { finish(); }
  RankWriter(const RankWriter&) = delete;
  RankWriter& operator=(const RankWriter&) = delete;

  void add_communicator(const RecordedCommunicator& communicator);
  void set_backend(std::string_view backend);

  /// A call begins. `group`: operations with the same number start together; 0: none.
  void begin(const SeenOperation& operation, std::uint64_t id, std::uint64_t group, std::uint64_t time_ns);
  /// The program begins to wait for a call that is pending. False for an id that is not known here, as for end().
  bool begin_wait(std::uint64_t id, std::uint64_t time_ns);
  /// The program knows that the call has ended.
  bool end(std::uint64_t id, std::uint64_t time_ns);
  /// A receive from any rank (kAny), or of any tag, has got this message; after end().
  void meet(std::uint64_t id, std::int32_t from, std::int32_t tag);
  /// The program called a function that no record can hold. Written once per function.
  void leave_out(std::string_view function);
  /// The program ends in order. Nothing is recorded afterwards.
  void finish();

 private:
  /// A call that has not ended, or all calls of a group.
  struct Open {
    std::uint64_t id = 0;  ///< the first
    std::uint64_t group = 0;
    std::size_t calls = 1;    ///< that have not ended
    bool is_pending = false;  ///< other events follow before it ends
    bool is_waited_for = false;
    std::size_t line_end = 0;
    std::uint64_t begin_ns = 0;
    std::vector<std::uint64_t> more = {};  ///< further ids of the group
  };
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;  ///< 0: the slot is free
  };

  [[nodiscard]] bool is_active() const noexcept;
  void write_event(std::string_view text, std::uint64_t time_ns);
  void end_group();
  void write_operation(const SeenOperation& operation, std::uint64_t time_ns);
  [[nodiscard]] std::uint32_t number_of(const SeenOperation& operation);
  void write_wait(std::size_t index, std::uint64_t time_ns);
  [[nodiscard]] std::size_t find(std::uint64_t id) const noexcept;

  std::mutex mutex_;
  std::optional<PartFile> file_;
  unsigned generation_;
  std::vector<Slot> slots_;
  std::deque<RecordedOperation> defined_;
  std::size_t defined_bytes_ = 0;
  std::vector<Open> open_;
  std::uint64_t open_group_ = 0;  ///< whose line "end" is still to come
  std::uint64_t last_ns_ = 0;
  std::string line_;
  std::vector<std::string> left_out_;
  std::uint64_t receives_ = 0;                                      ///< that take any message
  std::vector<std::pair<std::uint64_t, std::uint64_t>> receiving_;  ///< those that got none yet: id, number
  bool is_full_ = false;
};

}  // namespace tutti::replay
