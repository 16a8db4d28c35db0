#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.hpp"

/// Words of record files.
namespace tutti::replay {

/// A line that is not of the format; the reader adds file and line.
class LineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Takes a line apart at blanks. Quoted parts keep their blanks; quotes and escapes are resolved.
class Words {
 public:
  explicit Words(std::string_view line) noexcept : rest_(line) {}
  /// The next word, valid until the next call; nothing at the end. Throws LineError for an open quote.
  [[nodiscard]] std::optional<std::string_view> next();
  /// The rest of the line, with blanks at the front.
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::string_view rest_;
  std::string word_;
};

/// The text in quotes, with escapes for everything that is not printable ASCII.
[[nodiscard]] std::string quoted(std::string_view text);

/// A whole number; throws LineError that says `what` it is for.
[[nodiscard]] std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t most);

/// "0-3,8". Throws LineError for numbers of `most` and above, and for repeated ones.
[[nodiscard]] std::vector<int> parse_ranks(std::string_view text, int most);
/// The shortest form.
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

/// Appends "12.5,13,-": microseconds with at most one decimal place; the values once if all are the same.
void append_times(std::string& out, std::span<const float> times);
/// One value: writes at most 24 characters and returns their end.
char* write_time(char* out, double microseconds) noexcept;
/// Appends the values to `times`. Units us (none), ns, ms and s.
void parse_times(std::string_view text, std::vector<float>& times);

/// "allreduce 1024 float32 sum comm=1 async label="x"". `communicator`: its number in the file.
[[nodiscard]] std::string operation_text(const RecordedOperation& operation, std::uint32_t communicator);
/// Parses the words of an operation up to the first that begins with '+' or '=' (gap and time). RecordedOperation's
/// communicator is the number in the text. Returns the word that ended it, or nothing.
std::optional<std::string_view> parse_operation(OpKind kind, Words& words, RecordedOperation& operation);

}  // namespace tutti::replay
