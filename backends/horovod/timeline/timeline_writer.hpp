#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::horovod {

/// A line of a timeline.
struct TimelineEvent {
  enum class Kind : std::uint8_t {
    tensor,   ///< `name` is that of the tensor of that number
    begin,    ///< of `name`
    end,      ///< of the last one that began; `arguments` is the inside of a JSON object
    instant,  ///< mark `name` at a tensor
    marker,   ///< mark `name` at everything
  };

  Kind kind = Kind::begin;
  int tensor = 0;
  std::string name;
  std::string arguments;
  std::chrono::steady_clock::time_point time;
};

/// `text` as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_escaped(std::string_view text);

/// Writes events to a file from a thread of its own. The file is a complete JSON array after each piece, so that that
/// of a job that was killed can be read.
class TimelineWriter {
 public:
  /// Creates the file. Throws Error{system} that names it.
  explicit TimelineWriter(const std::string& path);
  /// Writes the rest.
  ~TimelineWriter();
  TimelineWriter(const TimelineWriter&) = delete;
  TimelineWriter& operator=(const TimelineWriter&) = delete;

  /// Takes an event; does not wait for the file. When the file is slower than the engine, events are counted instead of
  /// kept, and the file says how many are missing.
  void add(TimelineEvent event);

  /// Writes the rest and closes the file. Returns the error; empty if all events are in the file.
  std::string finish();

  /// Events that add() keeps at most.
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 18;

 private:
  void run();
  void write(const std::vector<TimelineEvent>& events, std::uint64_t dropped);
  void append(const TimelineEvent& event);
  void flush();
  [[nodiscard]] long long microseconds(std::chrono::steady_clock::time_point time) const;

  std::string path_;
  spi::FileDescriptor file_;
  std::chrono::steady_clock::time_point start_;
  std::string text_;  ///< of the piece that is being made; used by the thread only
  bool is_first_ = true;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<TimelineEvent> waiting_;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  std::string error_;
  std::thread thread_;
};

}  // namespace tutti::horovod
