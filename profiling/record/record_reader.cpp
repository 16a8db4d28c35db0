#include "record/record_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "record/operation_rules.hpp"
#include "record/record_text.hpp"
#include "record/sequence_builder.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::replay {

namespace {

std::string_view trim(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

/// The value of "key=value"; throws unless the word has that key.
std::optional<std::string_view> value_of(std::string_view word, std::string_view key) {
  if (!word.starts_with(key) || word.size() <= key.size() || word[key.size()] != '=') return std::nullopt;
  return word.substr(key.size() + 1);
}

/// Reads the lines of a record or of a part.
class Reader {
 public:
  Reader(std::string_view file, bool is_part) : file_(file), is_part_(is_part), builder_(budget_, is_part) {}

  RecordPart read(std::string_view content) {
    if (is_part_) content = content.substr(0, std::min(content.find('\0'), content.size()));
    while (!content.empty()) {
      const std::size_t end = content.find('\n');
      if (end == std::string_view::npos && is_part_) break;
      ++line_;
      at_line(content.substr(0, end));
      content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    }
    ++line_;
    guarded([this] { finish(); });
    return std::move(part_);
  }

 private:
  template <typename Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const LineError& error) {
      throw Error(ErrorCode::invalid_argument,
                  spi::printable(file_, 300) + ":" + std::to_string(line_) + ": " + error.what());
    }
  }

  void at_line(std::string_view line) {
    line = trim(line);
    if (line.empty() || (line.front() == '#' && (line.size() == 1 || line[1] < '0' || line[1] > '9'))) return;
    guarded([&] {
      if (!has_version_) {
        read_version(line);
      } else if (line.front() == '#') {
        read_reference(line);
      } else {
        read_line(line);
      }
    });
  }

  void read_version(std::string_view line) {
    const std::string expected = "tutti-record " + std::to_string(kFormatVersion);
    if (!line.starts_with("tutti-record "))
      throw LineError("the file is no record of tutti: its first line is not \"" + expected + "\"");
    if (line != expected)
      throw LineError("the record is of format version " + spi::printable(line.substr(13)) +
                      ", this tutti reads version " + std::to_string(kFormatVersion) +
                      "; record again or use the tutti that made it");
    has_version_ = true;
  }

  void read_line(std::string_view line) {
    Words words(line);
    const std::string first(words.next().value_or(""));
    if (const auto kind = parse_op_kind(first)) {
      read_inline(*kind, words);
    } else if (first == "define") {
      read_definition(words);
    } else if (first == "wait" || first == "group" || first == "repeat" || first == "end") {
      read_structure(first, words);
    } else if (first == "sequence" && !is_part_) {
      read_sequence(words);
    } else if (first == "communicator") {
      read_communicator(words);
    } else {
      read_header(first, words);
    }
  }

  void read_header(std::string_view first, Words& words) {
    JobRecord& record = part_.record;
    const auto word = words.next();
    if (first == "ranks" && !is_part_ && word) {
      require_before_sequences("ranks");
      record.ranks = *word == "any" ? 0 : static_cast<int>(parse_number(*word, "number of ranks", kMostRanks));
      if (*word != "any" && record.ranks == 0) throw LineError("the number of ranks is 0");
      has_ranks_ = true;
    } else if (first == "about" && word) {
      record.about = *word;
    } else if (first == "backend" && word) {
      record.backend = *word;
    } else if (first == "part" && is_part_ && word) {
      read_part_header(*word, words);
      return;
    } else if (first == "problem" && is_part_ && word) {
      part_.is_cut_off = true;
      part_.problem = *word;
    } else if (first == "left_out" && is_part_ && word) {
      part_.left_out.emplace_back(*word);
    } else if (first == "met" && is_part_ && word) {
      read_meeting(*word, words);
      return;
    } else if (first == "finished" && is_part_ && !word) {
      finished_ = true;
    } else {
      throw LineError("unknown operation or keyword \"" + spi::printable(first) + "\"");
    }
    if (const auto more = words.next()) refuse_word(*more, first);
  }

  void read_part_header(std::string_view word, Words& words) {
    for (std::optional<std::string_view> next = word; next; next = words.next()) {
      if (const auto rank = value_of(*next, "rank")) {
        part_.rank = static_cast<int>(parse_number(*rank, "rank", kMostRanks - 1));
      } else if (const auto of = value_of(*next, "of")) {
        part_.ranks = static_cast<int>(parse_number(*of, "number of ranks", kMostRanks));
      } else {
        refuse_word(*next, "part");
      }
    }
    if (part_.rank >= part_.ranks)
      throw LineError("the part is of rank " + std::to_string(part_.rank) + " of " + std::to_string(part_.ranks));
    has_ranks_ = true;
    part_.record.ranks = part_.ranks;
    part_.record.sequences.push_back({.ranks = {part_.rank}, .events = {}, .gaps = {}, .times = {}});
  }

  /// "met 3 from=1 tag=7"
  void read_meeting(std::string_view number, Words& words) {
    Meeting meeting{.receive = parse_number(number, "number of the receive", UINT64_MAX)};
    while (const auto word = words.next()) {
      if (const auto from = value_of(*word, "from")) {
        meeting.from = static_cast<std::int32_t>(parse_number(*from, "from", kMostRanks - 1));
      } else if (const auto tag = value_of(*word, "tag")) {
        meeting.tag = static_cast<std::int32_t>(parse_number(*tag, "tag", INT32_MAX));
      } else {
        refuse_word(*word, "met");
      }
    }
    part_.meetings.push_back(meeting);
  }

  void require_before_sequences(std::string_view keyword) const {
    if (!part_.record.sequences.empty())
      throw LineError("\"" + std::string(keyword) + "\" must stand before the first sequence");
  }

  void read_communicator(Words& words) {
    if (!is_part_) require_before_sequences("communicator");
    JobRecord& record = part_.record;
    if (!has_ranks_) throw LineError("\"ranks\" must stand before the communicators");
    if (record.communicators.size() > kMostCommunicators)
      throw LineError("the record has more than a million communicators");
    RecordedCommunicator added;
    added.number =
        static_cast<std::uint32_t>(parse_number(words.next().value_or(""), "number of the communicator", UINT32_MAX));
    while (const auto word = words.next()) {
      if (const auto name = value_of(*word, "name")) {
        added.name = *name;
      } else if (const auto ranks = value_of(*word, "ranks"); ranks && !is_part_) {
        if (record.ranks == 0)
          throw LineError("a record of any number of ranks has no communicators but the job's own");
        if (*ranks != "all") added.ranks = parse_ranks(*ranks, record.ranks);
        budget_.spend(added.ranks.size());
      } else if (const auto key = value_of(*word, "key"); key && is_part_) {
        added.key = parse_key(*key);
      } else if (const auto rank = value_of(*word, "rank"); rank && is_part_) {
        added.rank = static_cast<int>(parse_number(*rank, "rank", kMostRanks - 1));
      } else if (const auto size = value_of(*word, "size"); size && is_part_) {
        added.size = static_cast<int>(parse_number(*size, "size", kMostRanks));
      } else {
        refuse_word(*word, "communicator");
      }
    }
    add_communicator(std::move(added));
  }

  static std::uint64_t parse_key(std::string_view text) {
    std::uint64_t key = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), key, 16);
    if (error != std::errc{} || end != text.data() + text.size())
      throw LineError("the key of the communicator is no hexadecimal number");
    return key;
  }

  void add_communicator(RecordedCommunicator added) {
    JobRecord& record = part_.record;
    if (is_part_ && (added.rank >= added.size)) throw LineError("the communicator has no rank and size");
    if (!is_part_ && added.number == 0) {
      if (!added.ranks.empty()) throw LineError("communicator 0 is that of all ranks");
      record.communicators[0].name = added.name;
      return;
    }
    if (!index_of_communicator_.emplace(added.number, static_cast<std::uint32_t>(record.communicators.size())).second)
      throw LineError("communicator " + std::to_string(added.number) + " is described twice");
    record.communicators.push_back(std::move(added));
  }

  void read_sequence(Words& words) {
    end_sequence();
    JobRecord& record = part_.record;
    if (!has_ranks_) throw LineError("\"ranks\" must stand before the first sequence");
    Sequence sequence;
    const std::string ranks(words.next().value_or(""));
    if (ranks != "all") {
      if (record.ranks == 0) throw LineError("a record of any number of ranks has one sequence, of all ranks");
      sequence.ranks = parse_ranks(ranks, record.ranks);
    } else if (record.ranks == 0 && !record.sequences.empty()) {
      throw LineError("the ranks have a second sequence");
    }
    const auto claim = [&](int rank) {
      if (!placed_.insert(rank).second) throw LineError("rank " + std::to_string(rank) + " has a second sequence");
    };
    if (ranks != "all") {
      std::ranges::for_each(sequence.ranks, claim);
    } else {
      for (int rank = 0; rank < record.ranks; ++rank) claim(rank);
    }
    std::optional<std::uint64_t> expected_events;
    while (const auto word = words.next()) {
      const auto events = value_of(*word, "events");
      if (!events) refuse_word(*word, "sequence");
      expected_events = parse_number(*events, "number of events", UINT64_MAX);
    }
    builder_.begin(ranks == "all" ? static_cast<std::size_t>(std::max(record.ranks, 1)) : sequence.ranks.size(),
                   expected_events);
    record.sequences.push_back(std::move(sequence));
  }

  /// An operation written out; the same text again is the same operation.
  void read_inline(OpKind kind, Words& words) {
    RecordedOperation op;
    const std::string_view before = words.rest();
    const auto word = parse_operation(kind, words, op);
    const std::size_t left = words.rest().size() + (word ? word->size() : 0);
    const std::string text = std::string(name(kind)) + std::string(trim(before.substr(0, before.size() - left)));
    auto [found, is_new] = operation_of_text_.try_emplace(text, 0);
    if (is_new) found->second = add_operation(std::move(op));
    add_event({.kind = EventKind::operation, .value = found->second}, word, words);
  }

  void read_definition(Words& words) {
    const std::uint64_t number = parse_number(words.next().value_or(""), "number of the definition", UINT32_MAX);
    const std::string first(words.next().value_or(""));
    const auto kind = parse_op_kind(first);
    if (!kind) throw LineError("unknown operation \"" + spi::printable(first) + "\"");
    RecordedOperation op;
    if (const auto word = parse_operation(*kind, words, op)) refuse_word(*word, "define");
    if (defined_.contains(number)) throw LineError("operation #" + std::to_string(number) + " is defined twice");
    defined_[number] = add_operation(std::move(op));
  }

  std::uint32_t add_operation(RecordedOperation op) {
    if (!is_part_ && (op.root == kAny || op.tag == kAny)) throw LineError("a receive names its sender and its tag");
    const std::uint32_t number = op.communicator;
    const auto found = index_of_communicator_.find(number);
    if (number == 0 && !is_part_) {
      op.communicator = 0;
    } else if (found == index_of_communicator_.end()) {
      throw LineError("communicator " + std::to_string(number) + " is not described before its first operation");
    } else {
      op.communicator = found->second;
    }
    if (!has_ranks_) throw LineError("\"ranks\" must stand before the first operation");
    const RecordedCommunicator& communicator = part_.record.communicators[op.communicator];
    check_operation(op, is_part_ ? communicator.size : part_.record.size_of(op.communicator, part_.record.ranks));
    budget_.spend(op.in.size() + op.out.size());
    auto& operations = part_.record.operations;
    if (operations.size() == UINT32_MAX) throw LineError("the record has too many operations");
    // The same operation in other words is one operation.
    const auto [known, is_new] =
        index_of_operation_.try_emplace(operation_text(op, number), static_cast<std::uint32_t>(operations.size()));
    if (is_new) operations.push_back(std::move(op));
    return known->second;
  }

  /// "#12 +3.5 =40": the most frequent line.
  void read_reference(std::string_view line) {
    std::size_t end = 1;
    while (end < line.size() && line[end] >= '0' && line[end] <= '9') ++end;
    const auto found = defined_.find(parse_number(line.substr(1, end - 1), "number of the operation", UINT32_MAX));
    if (found == defined_.end())
      throw LineError("operation " + spi::printable(line.substr(0, end)) + " is not defined");
    Words words(line.substr(end));
    add_event({.kind = EventKind::operation, .value = found->second}, words.next(), words);
  }

  void read_structure(std::string_view first, Words& words) {
    auto word = words.next();
    const bool has_value = word && !word->starts_with('+') && !word->starts_with('=');
    Event event;
    if (first == "wait") {
      event = {.kind = EventKind::wait, .value = 0};
      if (has_value)
        event.value =
            *word == "all"
                ? kWaitAll
                : static_cast<std::uint32_t>(parse_number(*word, "number of the pending operation", kWaitAll - 1));
    } else if (first == "group") {
      if (builder_.is_in_group()) throw LineError("a group stands within another one");
      event = {.kind = EventKind::group, .async = has_value && *word == "async"};
      if (has_value && !event.async) refuse_word(*word, first);
    } else if (first == "repeat") {
      if (!has_value) throw LineError("the number of repetitions is missing");
      event = {
          .kind = EventKind::repeat,
          .value = static_cast<std::uint32_t>(parse_number(*word, "number of repetitions", kMostEventsOfSequence))};
    } else {
      event = {.kind = EventKind::end};
      if (has_value) refuse_word(*word, first);
    }
    if (has_value) word = words.next();
    add_event(event, word, words);
  }

  /// `word`: the first of gap and time.
  void add_event(const Event& event, std::optional<std::string_view> word, Words& words) {
    if (part_.record.sequences.empty()) throw LineError("an event stands before the first sequence");
    Sequence& sequence = part_.record.sequences.back();
    if (event.kind == EventKind::operation) check_member(sequence, part_.record.operations[event.value]);
    builder_.add(sequence, event, word, words);
  }

  void check_member(const Sequence& sequence, const RecordedOperation& op) {
    if (is_part_ || part_.record.communicators[op.communicator].ranks.empty()) return;
    if (!members_known_.insert({part_.record.sequences.size(), op.communicator}).second) return;
    const RecordedCommunicator& communicator = part_.record.communicators[op.communicator];
    const auto require_member = [&](int rank) {
      if (std::ranges::find(communicator.ranks, rank) == communicator.ranks.end())
        throw LineError("rank " + std::to_string(rank) + " is not a member of communicator " +
                        std::to_string(communicator.number));
    };
    if (!sequence.ranks.empty()) {
      std::ranges::for_each(sequence.ranks, require_member);
    } else {
      for (int rank = 0; rank < part_.record.ranks; ++rank) require_member(rank);
    }
  }

  /// Checks the sequence before.
  void end_sequence() {
    if (!part_.record.sequences.empty()) builder_.end(part_.record.sequences.back());
  }

  void finish() {
    if (!has_version_) throw LineError("the file is empty");
    end_sequence();
    if (is_part_) {
      if (part_.record.sequences.empty())
        throw LineError("the file is no part of a record: the line \"part\" is missing");
      part_.is_cut_off = part_.is_cut_off || !finished_;
      return;
    }
    if (part_.record.sequences.empty()) throw LineError("the record has no sequence: the file is cut off");
    if (part_.record.ranks == 0) return;
    if (placed_.size() == static_cast<std::size_t>(part_.record.ranks)) return;
    for (int rank = 0; rank < part_.record.ranks; ++rank) {
      if (!placed_.contains(rank))
        throw LineError("rank " + std::to_string(rank) + " has no sequence: the file is cut off, or \"sequence " +
                        std::to_string(rank) + "\" is missing");
    }
  }

  std::string file_;
  bool is_part_;
  RecordPart part_;
  std::size_t line_ = 0;
  bool has_version_ = false;
  bool has_ranks_ = false;
  bool finished_ = false;
  ElementBudget budget_;
  SequenceBuilder builder_;
  std::set<int> placed_;  ///< ranks that have a sequence
  std::unordered_map<std::uint64_t, std::uint32_t> index_of_communicator_;
  std::unordered_map<std::uint64_t, std::uint32_t> defined_;
  std::unordered_map<std::string, std::uint32_t> operation_of_text_;   ///< as written
  std::unordered_map<std::string, std::uint32_t> index_of_operation_;  ///< as printed
  std::set<std::pair<std::size_t, std::uint32_t>> members_known_;
};

}  // namespace

JobRecord read_record(std::string_view content, std::string_view file) {
  return std::move(Reader(file, false).read(content).record);
}

RecordPart read_part(std::string_view content, std::string_view file) { return Reader(file, true).read(content); }

std::string read_file(const std::string& path) {
  const auto fail = [&] {
    throw Error(ErrorCode::system, "record " + path + " cannot be read: " + std::strerror(errno), {}, errno);
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             [](std::FILE* open) { return std::fclose(open); });
  if (file == nullptr) fail();
  std::string content;
  char chunk[1 << 16];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, file.get())) content.append(chunk, got);
  if (std::ferror(file.get()) != 0) fail();
  return content;
}

JobRecord load_record(const std::string& path) { return read_record(read_file(path), path); }
RecordPart load_part(const std::string& path) { return read_part(read_file(path), path); }

}  // namespace tutti::replay
