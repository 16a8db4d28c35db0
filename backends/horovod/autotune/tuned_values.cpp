#include "autotune/tuned_values.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>

#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

constexpr std::string_view kInnerBackend = "inner_backend";

/// Shortest text that gives the same number.
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // Also refuses "inf" and "nan".
  if (error != std::errc{} || rest != text.data() + text.size() || !(value >= 0 && value <= 1e12)) return {};
  return value;
}

/// Calls visit(key, number or flag) for each value that has a fixed type.
template <typename Result, typename Visit>
void each_value(Result& result, Visit visit) {
  auto& values = result.values;
  visit("fusion_threshold_mb", values.fusion_threshold_mb);
  visit("cycle_time_ms", values.cycle_time_ms);
  visit("partition_mb", values.partition_mb);
  visit("hierarchical_allreduce", values.hierarchical_allreduce);
  visit("hierarchical_allgather", values.hierarchical_allgather);
  visit("torus_allreduce", values.torus_allreduce);
  visit("cache_enabled", values.cache_enabled);
  visit("score", result.score);
}

void assign(double& target, double value) noexcept { target = value; }
void assign(bool& target, double value) noexcept { target = value > 0; }

/// Sets the value of that key; false if the key or the text is unknown.
bool read_value(TuningResult& result, std::string_view key, std::string_view text) {
  if (key == kInnerBackend) {
    result.inner_backend = text;
    return true;
  }
  const std::optional<double> number = parse_number(text);
  bool known = false;
  each_value(result, [&](std::string_view its_key, auto& target) {
    if (key != its_key || !number) return;
    assign(target, *number);
    known = true;
  });
  return known;
}

[[noreturn]] void fail_file(const std::string& path, const std::string& problem, int error) {
  throw Error(ErrorCode::system, path + ": " + problem + ": " + std::generic_category().message(error), {}, error);
}

}  // namespace

std::string to_text(const TuningResult& result) {
  std::string text = std::string(kTuningHead) + '\n';
  each_value(result, [&](std::string_view key, const auto& value) {
    text += std::string(key) + ' ' + number_text(static_cast<double>(value)) + '\n';
  });
  if (!result.inner_backend.empty()) text += std::string(kInnerBackend) + ' ' + result.inner_backend + '\n';
  return text;
}

TuningResult tuning_from_text(std::string_view text, std::string_view where) {
  TuningResult result;
  std::set<std::string, std::less<>> seen;
  int number = 0;
  const auto fail = [&](const std::string& problem) {
    throw Error(ErrorCode::config, std::string(where) + ", line " + std::to_string(number) + ": " + problem);
  };
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (++number == 1) {
      if (line != kTuningHead) fail("is not \"" + std::string(kTuningHead) + "\"; the file is no result of autotune");
      continue;
    }
    if (line.empty() || line.front() == '#') continue;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view key = line.substr(0, blank);
    if (!seen.emplace(key).second) fail(spi::printable(key) + " is given twice");
    if (!read_value(result, key, line.substr(std::min(blank + 1, line.size()))))
      fail('"' + spi::printable(line) + "\" is no known parameter with a number");
  }
  if (!seen.contains("fusion_threshold_mb") || !seen.contains("cycle_time_ms"))
    fail("the file ends without fusion_threshold_mb and cycle_time_ms");
  return result;
}

void replace_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".tmp." + std::to_string(getpid());
  std::ofstream file(temporary, std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    const int error = errno;
    (void)std::remove(temporary.c_str());
    fail_file(path, "the result of autotune cannot be written", error);
  }
  if (std::rename(temporary.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  (void)std::remove(temporary.c_str());
  fail_file(path, "the result of autotune cannot be written", error);
}

void save_tuning(const std::string& path, const TuningResult& result) { replace_file(path, to_text(result)); }

TuningResult load_tuning(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_file(path, "the result of autotune cannot be read", errno);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return tuning_from_text(text, path);
}

}  // namespace tutti::horovod
