#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

/// Writes one JSON document, indented, keys in the order of the calls. The caller keeps begin and end in step.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool yes) { return raw(yes ? "true" : "false"); }
  JsonWriter& value(std::integral auto number) { return raw(std::to_string(number)); }
  /// Six significant digits; what is not a number is null, which JSON has no other word for.
  JsonWriter& value(double number);
  JsonWriter& null() { return raw("null"); }

  /// The document, ended with a newline.
  [[nodiscard]] std::string text() const { return out_ + "\n"; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();
  void quote(std::string_view text);

  std::string out_;
  std::vector<bool> filled_;  // per open bracket: whether it already holds something
  bool after_key_ = false;
};

/// Replaces the file as a whole: readers see the old or the new content, never a part. Throws Error{system}.
void write_file_atomically(const std::string& path, std::string_view content);

}  // namespace tutti::tools
