// Text of tuning files.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "settings/settings.hpp"
#include "tuning/tuning_limits.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/error.hpp"
#include "tutti/tuning.hpp"

namespace tutti {
namespace {

constexpr std::string_view kMagic = "tutti-tuning";
constexpr std::string_view kFormat = "1";
constexpr std::string_view kBlanks = " \t";

/// A size without loss, in the largest unit that divides it.
std::string size_text(std::uint64_t bytes) {
  if (bytes == kNoLimit) return "end";
  constexpr std::string_view kUnits = "KMG";
  std::string unit;
  for (const char next : kUnits) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = next;
  }
  return std::to_string(bytes) + unit;
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.4f", value);
  return text.data();
}

/// One line for people's names, so that no name can begin another line.
std::string word_text(const std::string& text) { return text.empty() ? "unknown" : printable(text, 200); }

/// The words of a line, taken from its front.
class Words {
 public:
  Words(std::string_view line, std::size_t number) : rest_(line), number_(number) { skip(); }

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool is_comment() const noexcept { return rest_.starts_with('#'); }
  std::string_view next(std::string_view what) {
    if (rest_.empty()) fail("ends before " + std::string(what));
    const std::size_t end = std::min(rest_.find_first_of(kBlanks), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip();
    return word;
  }
  /// All that is left.
  std::string text(std::string_view what) {
    if (rest_.empty()) fail("ends before " + std::string(what));
    const std::size_t end = rest_.find_last_not_of(kBlanks) + 1;
    std::string all(rest_.substr(0, end));
    rest_ = {};
    return all;
  }
  void end() const {
    if (!rest_.empty()) fail("has '" + printable(rest_) + "' after its last word");
  }
  [[noreturn]] void fail(const std::string& fault) const {
    throw Error(ErrorCode::config, "line " + std::to_string(number_) + " " + fault);
  }
  [[noreturn]] void refuse(std::string_view word, std::string_view accepted) const {
    fail("has '" + printable(word) + "' in place of " + std::string(accepted));
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size())); }

  std::string_view rest_;
  std::size_t number_;
};

std::uint64_t size_of_word(Words& words, std::string_view word, bool may_be_end) {
  if (may_be_end && word == "end") return kNoLimit;
  const auto bytes = parse_bytes(word);
  if (!bytes || *bytes >= kLargestTunedSize) words.refuse(word, "a size");
  return *bytes;
}

double number_of_word(Words& words, std::string_view word, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= 0) || !(value <= most)) {
    words.refuse(word, "a number from 0 to " + number_text(most));
  }
  return value;
}

int rank_count(Words& words, std::string_view word) {
  int count = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), count);
  if (error != std::errc{} || end != word.data() + word.size() || count < 1) words.refuse(word, "a number of ranks");
  return count;
}

void read_ranks(Words& words, TuningRow& row) {
  const std::string_view word = words.next("the ranks");
  const std::size_t dash = word.find('-');
  row.ranks_from = rank_count(words, word.substr(0, dash));
  row.ranks_to = dash == std::string_view::npos ? row.ranks_from : rank_count(words, word.substr(dash + 1));
  if (row.ranks_to < row.ranks_from) words.refuse(word, "an ascending range of ranks");
}

std::string spec_of(Words& words) {
  const std::string_view word = words.next("a backend");
  try {
    return parse_backend_spec(word).text();
  } catch (const Error&) {
    words.refuse(word, "a backend");
  }
}

TuningRow read_row(Words& words) {
  TuningRow row;
  const std::string_view op = words.next("the operation");
  const auto kind = parse_op_kind(op);
  if (!kind || is_message(*kind)) words.refuse(op, "a collective");
  row.op = *kind;
  const std::string_view memory = words.next("host or device");
  if (memory != "host" && memory != "device") words.refuse(memory, "host or device");
  row.on_device = memory == "device";
  const std::string_view types = words.next("the class of the type");
  constexpr std::array kClasses = {TypeClass::any, TypeClass::floating, TypeClass::half, TypeClass::integer};
  const auto known = std::ranges::find_if(kClasses, [&](TypeClass one) { return name(one) == types; });
  if (known == kClasses.end()) words.refuse(types, "any, floating, half or integer");
  row.types = *known;
  if ((row.types != TypeClass::any) != traits(row.op).reduces) {
    words.refuse(types, traits(row.op).reduces ? "floating, half or integer" : "any");
  }
  read_ranks(words, row);
  row.from = size_of_word(words, words.next("the begin of the range"), false);
  const std::string_view end = words.next("the end of the range");
  row.to = size_of_word(words, end, true);
  if (row.to <= row.from) words.refuse(end, "a size above " + size_text(row.from));
  row.margin = number_of_word(words, words.next("the margin"), 1e6);
  row.certainty = number_of_word(words, words.next("the certainty"), 1);
  words.end();
  return row;
}

TunedBackend read_backend(Words& words, OpKind op) {
  TunedBackend backend{.spec = spec_of(words), .times = {}};
  while (!words.empty()) {
    const std::string_view word = words.next("a time");
    if (backend.times.empty() && backend.composition == Composition::none && word == "as") {
      const std::string_view way = words.next("a composition");
      const auto known = parse_composition(way);
      if (!known || !composes(*known, op)) words.refuse(way, "a composition of " + std::string(name(op)));
      backend.composition = *known;
      continue;
    }
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) words.refuse(word, "SIZE:MICROSECONDS");
    const TunedTime time{size_of_word(words, word.substr(0, colon), false),
                         number_of_word(words, word.substr(colon + 1), 1e12)};
    if (time.us <= 0) words.refuse(word, "a time above 0");
    if (!backend.times.empty() && time.bytes <= backend.times.back().bytes) words.refuse(word, "a larger size");
    if (backend.times.size() == kMostTunedTimes) words.fail("has more times than accepted");
    backend.times.push_back(time);
  }
  return backend;
}

bool overlap(const TuningRow& a, const TuningRow& b) noexcept {
  return a.op == b.op && a.on_device == b.on_device && a.types == b.types && a.ranks_from <= b.ranks_to &&
         b.ranks_from <= a.ranks_to && a.from < b.to && b.from < a.to;
}

void add_row(Words& words, TuningTable& table) {
  if (table.rows.size() == kMostTunedRows) words.fail("is one row too many");
  if (!table.rows.empty() && table.rows.back().backends.empty()) words.fail("follows a row without a backend");
  TuningRow row = read_row(words);
  if (std::ranges::any_of(table.rows, [&](const TuningRow& one) { return overlap(one, row); })) {
    words.fail("is a row that overlaps another one");
  }
  table.rows.push_back(std::move(row));
}

void add_backend(Words& words, TuningTable& table) {
  if (table.rows.empty()) words.fail("names a backend before the first row");
  TunedBackend backend = read_backend(words, table.rows.back().op);
  std::vector<TunedBackend>& backends = table.rows.back().backends;
  const auto is_same = [&](const TunedBackend& one) {
    return one.spec == backend.spec && one.composition == backend.composition;
  };
  if (std::ranges::any_of(backends, is_same)) words.fail("names " + backend.spec + " a second time");
  if (backends.size() == kMostTunedBackends) words.fail("is one backend too many");
  backends.push_back(std::move(backend));
}

void add_engine(Words& words, TuningTable& table) {
  if (table.engines.size() == kMostTunedEngines) words.fail("is one engine too many");
  TunedEngine engine{.spec = spec_of(words), .values = {}};
  engine.ranks = rank_count(words, words.next("the ranks"));
  if (table.find_engine(engine.spec, engine.ranks) != nullptr)
    words.fail("has values of " + engine.spec + " for the same ranks a second time");
  do {
    const std::string_view word = words.next("KEY=VALUE");
    const std::size_t sign = word.find('=');
    if (sign == std::string_view::npos || sign == 0) words.refuse(word, "KEY=VALUE");
    if (engine.values.size() == kMostEngineValues) words.fail("has more values than accepted");
    engine.values.emplace_back(word.substr(0, sign), word.substr(sign + 1));
  } while (!words.empty());
  table.engines.push_back(std::move(engine));
}

void read_line(Words& words, TuningTable& table) {
  const std::string_view key = words.next("a word");
  if (key == "tutti") {
    table.tutti = words.text("the version");
  } else if (key == "cpu") {
    table.machine.cpu = words.text("the CPU");
  } else if (key == "cores") {
    table.machine.cores = rank_count(words, words.next("a number"));
    words.end();
  } else if (key == "host") {
    table.host = words.text("the host");
  } else if (key == "device") {
    table.device = words.text("the device");
  } else if (key == "library") {
    std::string spec = spec_of(words);
    table.libraries.emplace_back(std::move(spec), words.text("the version"));
  } else if (key == "row") {
    add_row(words, table);
  } else if (key == "use") {
    add_backend(words, table);
  } else if (key == "engine") {
    add_engine(words, table);
  } else {
    words.refuse(key, "tutti, cpu, cores, host, device, library, row, use or engine");
  }
}

void read_first_line(Words& words) {
  if (const std::string_view magic = words.next(kMagic); magic != kMagic) words.refuse(magic, kMagic);
  if (const std::string_view format = words.next("the format"); format != kFormat) {
    words.fail("has format " + printable(format) + ", which this version of tutti does not read; it reads " +
               std::string(kFormat));
  }
  words.end();
}

}  // namespace

TuningTable parse_tuning(std::string_view text) {
  if (text.size() > kLargestTuningFile) throw Error(ErrorCode::config, "it is larger than 1 MiB");
  TuningTable table;
  bool begun = false;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Words words(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.is_comment()) continue;
    if (!begun) {
      read_first_line(words);
      begun = true;
    } else {
      read_line(words, table);
    }
  }
  if (!begun) throw Error(ErrorCode::config, "it is empty");
  if (!table.rows.empty() && table.rows.back().backends.empty()) {
    throw Error(ErrorCode::config, "it ends after a row without a backend");
  }
  for (const auto& [key, missing] :
       {std::pair("tutti", table.tutti.empty()), std::pair("cpu", table.machine.cpu.empty()),
        std::pair("cores", table.machine.cores == 0)}) {
    if (missing) throw Error(ErrorCode::config, "it has no line '" + std::string(key) + "'");
  }
  return table;
}

std::string to_text(const TuningTable& table) {
  std::string text = std::string(kMagic) + " " + std::string(kFormat) + "\n";
  text += "tutti " + word_text(table.tutti) + "\ncpu " + word_text(table.machine.cpu) + "\ncores " +
          std::to_string(std::max(table.machine.cores, 1)) + "\nhost " + word_text(table.host) + "\n";
  if (!table.device.empty()) text += "device " + word_text(table.device) + "\n";
  for (const auto& [spec, version] : table.libraries) text += "library " + spec + " " + word_text(version) + "\n";
  text += "# row OPERATION MEMORY TYPES RANKS FROM TO MARGIN CERTAINTY, then its backends, the fastest first:\n";
  text += "# use BACKEND [as COMPOSITION] SIZE:MICROSECONDS ...\n";
  for (const TuningRow& row : table.rows) {
    text += "row " + std::string(name(row.op)) + (row.on_device ? " device " : " host ") +
            std::string(name(row.types)) + " " + std::to_string(row.ranks_from);
    if (row.ranks_to != row.ranks_from) text += "-" + std::to_string(row.ranks_to);
    text += " " + size_text(row.from) + " " + size_text(row.to) + " " + number_text(row.margin) + " " +
            number_text(row.certainty) + "\n";
    for (const TunedBackend& backend : row.backends) {
      text += "use " + backend.spec;
      if (backend.composition != Composition::none) text += " as " + std::string(traits(backend.composition).name);
      for (const TunedTime& time : backend.times) text += " " + size_text(time.bytes) + ":" + number_text(time.us);
      text += "\n";
    }
  }
  for (const TunedEngine& engine : table.engines) {
    text += "engine " + engine.spec + " " + std::to_string(engine.ranks);
    for (const auto& [key, value] : engine.values) text += " " + key + "=" + value;
    text += "\n";
  }
  return text;
}

}  // namespace tutti
