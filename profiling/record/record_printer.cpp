#include "record/record_printer.hpp"

#include <algorithm>
#include <span>

#include "record/record_text.hpp"

namespace tutti::replay {

namespace {

class Printer {
 public:
  explicit Printer(const JobRecord& record)
      : record_(record), uses_(record.operations.size()), number_(record.operations.size()) {
    for (const Sequence& sequence : record.sequences) {
      for (const Event& event : sequence.events) {
        if (event.kind == EventKind::operation) ++uses_[event.value];
      }
    }
  }

  std::string print() {
    print_header();
    for (std::size_t i = 0; i < record_.operations.size(); ++i) {
      if (uses_[i] < 2) continue;
      number_[i] = ++defined_;
      out_ += "define " + std::to_string(number_[i]) + ' ' + described(i) + '\n';
    }
    for (const Sequence& sequence : record_.sequences) print_sequence(sequence);
    return std::move(out_);
  }

 private:
  void print_header() {
    out_ = "tutti-record " + std::to_string(kFormatVersion) + '\n';
    out_ += "ranks " + (record_.ranks == 0 ? std::string("any") : std::to_string(record_.ranks)) + '\n';
    if (!record_.about.empty()) out_ += "about " + quoted(record_.about) + '\n';
    if (!record_.backend.empty()) out_ += "backend " + quoted(record_.backend) + '\n';
    for (const RecordedCommunicator& communicator : record_.communicators) {
      if (communicator.number == 0 && communicator.name.empty()) continue;
      out_ += "communicator " + std::to_string(communicator.number);
      out_ += " ranks=" + (communicator.ranks.empty() ? std::string("all") : ranks_text(communicator.ranks));
      if (!communicator.name.empty()) out_ += " name=" + quoted(communicator.name);
      out_ += '\n';
    }
  }

  void print_sequence(const Sequence& sequence) {
    out_ += "sequence " + (sequence.ranks.empty() ? std::string("all") : ranks_text(sequence.ranks));
    out_ += " events=" + std::to_string(sequence.events.size()) + '\n';
    std::size_t depth = 0;
    for (std::size_t i = 0; i < sequence.events.size(); ++i) {
      const Event& event = sequence.events[i];
      if (event.kind == EventKind::end && depth > 0) --depth;
      out_.append(2 * depth, ' ');
      print_event(event);
      print_times(sequence, i);
      out_ += '\n';
      if (event.kind == EventKind::group || event.kind == EventKind::repeat) ++depth;
    }
  }

  void print_event(const Event& event) {
    switch (event.kind) {
      case EventKind::operation:
        out_ += uses_[event.value] > 1 ? '#' + std::to_string(number_[event.value]) : described(event.value);
        break;
      case EventKind::wait:
        out_ += "wait";
        if (event.value != 0) out_ += event.value == kWaitAll ? " all" : ' ' + std::to_string(event.value);
        break;
      case EventKind::group:
        out_ += event.async ? "group async" : "group";
        break;
      case EventKind::repeat:
        out_ += "repeat " + std::to_string(event.value);
        break;
      case EventKind::end:
        out_ += "end";
        break;
    }
  }

  void print_times(const Sequence& sequence, std::size_t event) {
    const auto values = [&](const std::vector<float>& list) {
      return std::span(list).subspan(event * sequence.width, sequence.width);
    };
    const auto gaps = values(sequence.gaps);
    if (std::ranges::any_of(gaps, [](float gap) { return gap != 0; })) {
      out_ += " +";
      append_times(out_, gaps);
    }
    const auto times = values(sequence.times);
    if (std::ranges::any_of(times, is_known)) {
      out_ += " =";
      append_times(out_, times);
    }
  }

  [[nodiscard]] std::string described(std::size_t index) const {
    const RecordedOperation& op = record_.operations[index];
    return operation_text(op, record_.communicators[op.communicator].number);
  }

  const JobRecord& record_;
  std::vector<std::size_t> uses_;
  std::vector<std::size_t> number_;  ///< of operations that are used more than once
  std::size_t defined_ = 0;
  std::string out_;
};

}  // namespace

std::string to_text(const JobRecord& record) { return Printer(record).print(); }

}  // namespace tutti::replay
