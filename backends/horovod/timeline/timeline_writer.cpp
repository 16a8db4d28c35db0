#include "timeline/timeline_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::horovod {
namespace {

// Events that come within this time are written together.
constexpr std::chrono::milliseconds kGathering{20};

std::string problem_of(const std::string& path, int error) {
  return path + ": the timeline cannot be written: " + std::generic_category().message(error);
}

long long since_epoch_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string json_escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = spi::utf8_length(rest);
    const auto first = static_cast<unsigned char>(rest.front());
    if (length == 0) {
      result += "\\ufffd";
    } else if (first == '"' || first == '\\') {
      result += {'\\', rest.front()};
    } else if (first < 0x20 || first == 0x7f) {
      result += {'\\', 'u', '0', '0', kDigits[first >> 4], kDigits[first & 15]};
    } else {
      result += rest.substr(0, length);
    }
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

TimelineWriter::TimelineWriter(const std::string& path)
    : path_(path),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)),
      start_(std::chrono::steady_clock::now()) {
  if (!file_) throw Error(ErrorCode::system, problem_of(path, errno), {}, errno);
  text_ =
      "[\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"start_time_since_epoch_in_micros\":" +
      std::to_string(since_epoch_us()) +
      "}},\n{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": 0, \"args\": {\"sort_index\": 0}}]";
  flush();
  if (!error_.empty()) throw Error(ErrorCode::system, error_);
  thread_ = spi::start_thread("tutti-timeline", [this] { run(); });
}

TimelineWriter::~TimelineWriter() { (void)finish(); }

void TimelineWriter::add(TimelineEvent event) {
  bool was_empty = false;
  {
    const std::lock_guard lock(mutex_);
    // The names of tensors are few, and without them later events have no meaning.
    if (waiting_.size() >= kMostWaiting && event.kind != TimelineEvent::Kind::tensor) {
      ++dropped_;
      return;
    }
    was_empty = waiting_.empty();
    waiting_.push_back(std::move(event));
  }
  if (was_empty) wake_.notify_one();
}

std::string TimelineWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
  file_.reset();
  return error_;
}

void TimelineWriter::run() {
  std::vector<TimelineEvent> events;
  for (bool last = false; !last;) {
    std::uint64_t dropped = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      wake_.wait_for(lock, kGathering, [this] { return stopping_ || waiting_.size() >= kMostWaiting / 4; });
      last = stopping_;
      events.swap(waiting_);
      dropped = std::exchange(dropped_, 0);
    }
    write(events, dropped);
    events.clear();
  }
}

void TimelineWriter::write(const std::vector<TimelineEvent>& events, std::uint64_t dropped) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  for (const TimelineEvent& event : events) {
    append(event);
    if (text_.size() >= kPiece) flush();
  }
  if (dropped > 0) {
    append({.kind = TimelineEvent::Kind::marker,
            .name = std::to_string(dropped) + " events are missing: the file is slower than the engine",
            .arguments = {},
            .time = std::chrono::steady_clock::now()});
  }
  flush();
}

void TimelineWriter::append(const TimelineEvent& event) {
  using Kind = TimelineEvent::Kind;
  const std::string pid = std::to_string(event.tensor);
  const std::string time = std::to_string(microseconds(event.time));
  const std::string name = json_escaped(event.name);
  text_ += ",\n";
  switch (event.kind) {
    case Kind::tensor:
      text_ += "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": " + pid + ", \"args\": {\"name\": \"" + name +
               "\"}},\n{\"name\": \"process_sort_index\", \"ph\": \"M\", \"pid\": " + pid +
               ", \"args\": {\"sort_index\": " + pid + "}}";
      return;
    case Kind::begin:
      text_ += "{\"ph\": \"B\", \"name\": \"" + name + "\", \"ts\": " + time + ", \"pid\": " + pid + "}";
      return;
    case Kind::end:
      text_ += "{\"ph\": \"E\", \"ts\": " + time + ", \"pid\": " + pid +
               (event.arguments.empty() ? "}" : ", \"args\": {" + event.arguments + "}}");
      return;
    case Kind::instant:
      text_ += "{\"ph\": \"X\", \"name\": \"" + name + "\", \"ts\": " + time + ", \"pid\": " + pid + ", \"dur\": 0}";
      return;
    case Kind::marker:
      text_ += "{\"ph\": \"i\", \"name\": \"" + name + "\", \"ts\": " + time + ", \"s\": \"g\"}";
  }
}

// The bracket at the end is overwritten by the next piece.
void TimelineWriter::flush() {
  if (text_.empty() || !error_.empty()) {
    text_.clear();
    return;
  }
  if (!is_first_) {
    text_ += ']';
    if (::lseek(file_.get(), -1, SEEK_CUR) < 0) error_ = problem_of(path_, errno);
  }
  is_first_ = false;
  std::string_view rest = text_;
  while (!rest.empty() && error_.empty()) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      error_ = problem_of(path_, errno);
    }
  }
  text_.clear();
}

long long TimelineWriter::microseconds(std::chrono::steady_clock::time_point time) const {
  return std::chrono::floor<std::chrono::microseconds>(time - start_).count();
}

}  // namespace tutti::horovod
