#include "record/record_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

#include "tutti/spi/printable.hpp"

namespace tutti::replay {

namespace {

constexpr double kLongestTime = 1e12;  // microseconds: eleven days
constexpr std::size_t kLongestList = kMostRanks;

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string shown(std::string_view text) { return '"' + spi::printable(text) + '"'; }

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::vector<std::uint64_t> parse_counts(std::string_view text, std::string_view what) {
  std::vector<std::uint64_t> counts;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    // "1024x8" is eight times 1024.
    std::string_view item = text.substr(0, end);
    std::uint64_t times = 1;
    if (const std::size_t x = item.find('x'); x != std::string_view::npos) {
      times = parse_number(item.substr(x + 1), "number of equal counts", kLongestList);
      item = item.substr(0, x);
    }
    const std::uint64_t count = parse_number(item, what, UINT64_MAX);
    if (times > kLongestList - counts.size()) throw LineError("a list of counts has more than 65536 elements");
    counts.insert(counts.end(), times, count);
    if (end == text.size()) return counts;
    text.remove_prefix(end + 1);
  }
}

void append_counts(std::string& out, std::string_view key, std::span<const std::uint64_t> counts) {
  if (counts.empty()) return;
  out += key;
  for (std::size_t i = 0; i < counts.size();) {
    std::size_t equal = 1;
    while (i + equal < counts.size() && counts[i + equal] == counts[i]) ++equal;
    if (i > 0) out += ',';
    out += std::to_string(counts[i]);
    if (equal > 1) out += 'x' + std::to_string(equal);
    i += equal;
  }
}

double parse_factor(std::string_view text) {
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(factor))
    throw LineError("scale " + shown(text) + " is not a number");
  return factor;
}

/// One word after the operation's name.
void parse_word(std::string_view word, bool& has_count, RecordedOperation& op) {
  const OpTraits& row = traits(op.kind);
  const auto value_of = [&](std::string_view key) -> std::optional<std::string_view> {
    if (!word.starts_with(key)) return std::nullopt;
    return word.substr(key.size());
  };
  const std::string_view peer = op.kind == OpKind::send ? "to=" : op.kind == OpKind::recv ? "from=" : "root=";
  if (const auto type = parse_data_type(word); type && op.kind != OpKind::barrier) {
    op.type = *type;
  } else if (const auto reduction = parse_reduction(word); reduction && row.reduces) {
    op.reduction = *reduction;
  } else if (word == "async") {
    op.async = true;
  } else if (word == "in_place") {
    op.in_place = true;
  } else if (const auto number = value_of("comm=")) {
    op.communicator = static_cast<std::uint32_t>(parse_number(*number, "communicator", UINT32_MAX));
  } else if (const auto label = value_of("label=")) {
    op.label = *label;
  } else if (op.kind == OpKind::recv && word == "from=any") {
    op.root = kAny;
  } else if (op.kind == OpKind::recv && word == "tag=any") {
    op.tag = kAny;
  } else if (const auto root = value_of(peer); root && row.rooted) {
    op.root = static_cast<std::int32_t>(parse_number(*root, peer.substr(0, peer.size() - 1), kMostRanks - 1));
  } else if (const auto tag = value_of("tag="); tag && is_message(op.kind)) {
    op.tag = static_cast<std::int32_t>(parse_number(*tag, "tag", INT32_MAX));
  } else if (const auto scale = value_of("scale="); scale && row.reduces) {
    op.prescale = parse_factor(*scale);
  } else if (const auto in = value_of("in="); in && row.input == Extent::vector) {
    op.in = parse_counts(*in, "count in the list in=");
  } else if (const auto out = value_of("out="); out && row.output == Extent::vector) {
    op.out = parse_counts(*out, "count in the list out=");
  } else if (!has_count && !word.empty() && word.front() >= '0' && word.front() <= '9' && op.kind != OpKind::barrier) {
    op.count = parse_number(word, "count", UINT64_MAX);
    has_count = true;
  } else {
    throw LineError("unexpected word " + shown(word) + " for " + std::string(row.name));
  }
}

}  // namespace

std::optional<std::string_view> Words::next() {
  std::size_t i = 0;
  while (i < rest_.size() && is_blank(rest_[i])) ++i;
  rest_.remove_prefix(i);
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = static_cast<std::size_t>(std::ranges::find_if(rest_, is_blank) - rest_.begin());
  const std::string_view plain = rest_.substr(0, end);
  if (plain.find('"') == std::string_view::npos) {
    rest_.remove_prefix(end);
    return plain;
  }
  word_.clear();
  bool in_quotes = false;
  for (i = 0; i < rest_.size() && (in_quotes || !is_blank(rest_[i])); ++i) {
    const char c = rest_[i];
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (in_quotes && c == '\\') {
      const char next = i + 1 < rest_.size() ? rest_[i + 1] : '\0';
      const int high = next == 'x' && i + 3 < rest_.size() ? hex_digit(rest_[i + 2]) : -1;
      const int low = high >= 0 ? hex_digit(rest_[i + 3]) : -1;
      if (next != '"' && next != '\\' && low < 0)
        throw LineError("a backslash in quotes is followed by none of \" \\ xNN");
      word_ += low >= 0 ? static_cast<char>(high * 16 + low) : next;
      i += low >= 0 ? 3 : 1;
    } else {
      word_ += c;
    }
  }
  if (in_quotes) throw LineError("a quote is not closed");
  rest_.remove_prefix(i);
  return word_;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (const auto byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7f) {
      std::array<char, 5> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", static_cast<unsigned>(byte));
      out += hex.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::uint64_t parse_number(std::string_view text, std::string_view what, std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > most)
    throw LineError(std::string(what) + " " + shown(text) + " is not a whole number from 0 to " + std::to_string(most));
  return number;
}

std::vector<int> parse_ranks(std::string_view text, int most) {
  std::vector<int> ranks;
  std::set<int> known;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const std::size_t dash = item.find('-');
    const auto limit = static_cast<std::uint64_t>(most - 1);
    const auto first = static_cast<int>(parse_number(item.substr(0, dash), "rank", limit));
    const auto last =
        dash == std::string_view::npos ? first : static_cast<int>(parse_number(item.substr(dash + 1), "rank", limit));
    for (int rank = first; rank <= last; ++rank) {
      if (!known.insert(rank).second) throw LineError("rank " + std::to_string(rank) + " is listed twice");
      ranks.push_back(rank);
    }
    if (last < first) throw LineError("the range of ranks " + shown(item) + " is empty");
    if (end == text.size()) return ranks;
    text.remove_prefix(end + 1);
  }
}

std::string ranks_text(std::span<const int> ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t run = 1;
    while (i + run < ranks.size() && ranks[i + run] == ranks[i] + static_cast<int>(run)) ++run;
    if (!out.empty()) out += ',';
    out += std::to_string(ranks[i]);
    if (run > 1) out += '-' + std::to_string(ranks[i + run - 1]);
    i += run;
  }
  return out;
}

char* write_time(char* out, double microseconds) noexcept {
  const double tenths = std::min(std::max(microseconds, 0.0), kLongestTime) * 10 + 0.5;
  const auto whole = static_cast<std::uint64_t>(tenths);
  out = std::to_chars(out, out + 20, whole / 10).ptr;
  if (whole % 10 != 0) {
    *out++ = '.';
    *out++ = static_cast<char>('0' + whole % 10);
  }
  return out;
}

void append_times(std::string& out, std::span<const float> times) {
  const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
  const bool once = std::ranges::all_of(times, [&](float time) { return same(time, times.front()); });
  for (std::size_t i = 0; i < (once ? 1 : times.size()); ++i) {
    if (i > 0) out += ',';
    if (!is_known(times[i])) {
      out += '-';
      continue;
    }
    std::array<char, 24> text{};
    out.append(text.data(), write_time(text.data(), static_cast<double>(times[i])));
  }
}

void parse_times(std::string_view text, std::vector<float>& times) {
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    if (item == "-") {
      times.push_back(kUnknownTime);
    } else {
      double value = 0;
      const auto [after, error] =
          std::from_chars(item.data(), item.data() + item.size(), value, std::chars_format::fixed);
      const std::string_view unit(after, static_cast<std::size_t>(item.data() + item.size() - after));
      const double factor = unit.empty() || unit == "us" ? 1
                            : unit == "ns"               ? 1e-3
                            : unit == "ms"               ? 1e3
                            : unit == "s"                ? 1e6
                                                         : -1;
      if (error != std::errc{} || !(value >= 0) || factor < 0 || value * factor > kLongestTime)
        throw LineError("time " + shown(item) +
                        " is none; accepted: 12.5 (microseconds), 40ns, 3ms, 1.5s, - (unknown)");
      // As precise as it is printed.
      times.push_back(static_cast<float>(std::round(value * factor * 10) / 10));
    }
    if (end == text.size()) return;
    if (times.size() > kLongestList) throw LineError("a list of times has more than 65536 elements");
    text.remove_prefix(end + 1);
  }
}

std::string operation_text(const RecordedOperation& op, std::uint32_t communicator) {
  const OpTraits& row = traits(op.kind);
  std::string out(row.name);
  if (op.kind != OpKind::barrier) {
    if (op.kind != OpKind::alltoallv) out += ' ' + std::to_string(op.count);
    out += ' ';
    out += name(op.type);
  }
  if (row.reduces) {
    out += ' ';
    out += name(op.reduction);
  }
  if (row.rooted) {
    out += op.kind == OpKind::send ? " to=" : op.kind == OpKind::recv ? " from=" : " root=";
    out += op.root == kAny ? "any" : std::to_string(op.root);
  }
  append_counts(out, " in=", op.in);
  append_counts(out, " out=", op.out);
  if (op.tag != 0) out += " tag=" + (op.tag == kAny ? "any" : std::to_string(op.tag));
  if (op.prescale != 1) {
    std::array<char, 32> factor{};
    out += " scale=";
    out.append(factor.data(), std::to_chars(factor.data(), factor.data() + factor.size(), op.prescale).ptr);
  }
  if (communicator != 0) out += " comm=" + std::to_string(communicator);
  if (op.in_place) out += " in_place";
  if (op.async) out += " async";
  if (!op.label.empty()) out += " label=" + quoted(op.label);
  return out;
}

std::optional<std::string_view> parse_operation(OpKind kind, Words& words, RecordedOperation& op) {
  op.kind = kind;
  bool has_count = false;
  while (const auto word = words.next()) {
    if (word->starts_with('+') || word->starts_with('=')) return word;
    parse_word(*word, has_count, op);
  }
  return std::nullopt;
}

}  // namespace tutti::replay
