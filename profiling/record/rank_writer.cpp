#include "record/rank_writer.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>

#include "record/record_text.hpp"

namespace tutti::replay {

namespace {

constexpr std::size_t kSlots = std::size_t{1} << 16;
constexpr std::size_t kMostDefined = kSlots / 2;
constexpr std::size_t kMostDefinedBytes = std::size_t{16} << 20;
constexpr std::size_t kNone = SIZE_MAX;

/// Counts forks: a writer works in the process that made it.
std::atomic<unsigned> generation{0};

unsigned current_generation() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  (void)registered;
  return generation.load(std::memory_order_relaxed);
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) noexcept {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const SeenOperation& op) noexcept {
  std::uint64_t hash = static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.type) << 8 |
                       static_cast<std::uint64_t>(op.reduction) << 16 | static_cast<std::uint64_t>(op.in_place) << 24 |
                       static_cast<std::uint64_t>(op.async) << 25 | static_cast<std::uint64_t>(op.communicator) << 32;
  hash = mixed(hash, op.count);
  hash = mixed(
      hash, static_cast<std::uint32_t>(op.root) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(op.tag)) << 32);
  hash = mixed(hash, std::bit_cast<std::uint64_t>(op.prescale));
  for (const auto list : {op.in, op.out}) {
    for (const std::uint64_t count : list) hash = mixed(hash, count);
  }
  for (const char c : op.label) hash = mixed(hash, static_cast<unsigned char>(c));
  return mixed(hash, op.label.size());
}

bool equal(const SeenOperation& a, const RecordedOperation& b) noexcept {
  return a.kind == b.kind && a.type == b.type && a.reduction == b.reduction && a.in_place == b.in_place &&
         a.async == b.async && a.communicator == b.communicator && a.root == b.root && a.tag == b.tag &&
         a.count == b.count && a.prescale == b.prescale && std::ranges::equal(a.in, b.in) &&
         std::ranges::equal(a.out, b.out) && a.label == b.label;
}

RecordedOperation copy_of(const SeenOperation& op) {
  return {.kind = op.kind,
          .type = op.type,
          .reduction = op.reduction,
          .in_place = op.in_place,
          .async = op.async,
          .communicator = op.communicator,
          .root = op.root,
          .tag = op.tag,
          .count = op.count,
          .prescale = op.prescale,
          .in = {op.in.begin(), op.in.end()},
          .out = {op.out.begin(), op.out.end()},
          .label = std::string(op.label)};
}

double microseconds(std::uint64_t from_ns, std::uint64_t to_ns) noexcept {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) / 1000 : 0;
}

std::size_t memory_of(const SeenOperation& op) noexcept {
  return sizeof(RecordedOperation) + op.label.size() + (op.in.size() + op.out.size()) * sizeof(std::uint64_t);
}

}  // namespace

RankWriter::RankWriter(const std::string& folder, int rank, int ranks, std::size_t limit, const std::string& source)
    : generation_(current_generation()), slots_(kSlots) {
  file_.emplace(folder + '/' + source + "rank-" + std::to_string(rank) + '-' + std::to_string(getpid()) + ".part",
                limit);
  file_->append("tutti-record " + std::to_string(kFormatVersion));
  file_->append("part rank=" + std::to_string(rank) + " of=" + std::to_string(ranks));
}

bool RankWriter::is_active() const noexcept {
  return generation_ == generation.load(std::memory_order_relaxed) && file_.has_value() && !is_full_;
}

void RankWriter::add_communicator(const RecordedCommunicator& communicator) {
  const std::scoped_lock lock(mutex_);
  if (!is_active()) return;
  std::array<char, 16> key{};
  const char* const end = std::to_chars(key.data(), key.data() + key.size(), communicator.key, 16).ptr;
  const std::string_view hexadecimal(key.data(), static_cast<std::size_t>(end - key.data()));
  file_->append("communicator " + std::to_string(communicator.number) + " key=" + std::string(hexadecimal) +
                " rank=" + std::to_string(communicator.rank) + " size=" + std::to_string(communicator.size) +
                " name=" + quoted(communicator.name));
}

void RankWriter::set_backend(std::string_view backend) {
  const std::scoped_lock lock(mutex_);
  if (is_active()) file_->append("backend " + quoted(backend));
}

void RankWriter::begin(const SeenOperation& operation, std::uint64_t id, std::uint64_t group, std::uint64_t time_ns) {
  const std::scoped_lock lock(mutex_);
  if (!is_active()) return;
  if (open_group_ != 0 && open_group_ != group) end_group();
  if (last_ns_ == 0) last_ns_ = time_ns;
  if (operation.kind == OpKind::recv && (operation.root == kAny || operation.tag == kAny))
    receiving_.emplace_back(id, receives_++);
  if (group != 0 && open_group_ == group) {
    write_operation(operation, time_ns);
    Open& entry = *std::ranges::find(open_, group, &Open::group);
    entry.more.push_back(id);
    ++entry.calls;
    return;
  }
  if (group != 0) {
    write_event("group async", time_ns);
    last_ns_ = time_ns;
    open_group_ = group;
  }
  write_operation(operation, time_ns);
  const bool is_pending = group != 0 || operation.async;
  open_.push_back({.id = id, .group = group, .is_pending = is_pending, .line_end = file_->size(), .begin_ns = time_ns});
  if (is_pending) last_ns_ = time_ns;
}

bool RankWriter::begin_wait(std::uint64_t id, std::uint64_t time_ns) {
  const std::scoped_lock lock(mutex_);
  if (!is_active()) return false;
  const std::size_t index = find(id);
  if (index == kNone) return false;
  if (open_[index].is_pending && !open_[index].is_waited_for) write_wait(index, time_ns);
  return true;
}

bool RankWriter::end(std::uint64_t id, std::uint64_t time_ns) {
  const std::scoped_lock lock(mutex_);
  if (!is_active()) return false;
  const std::size_t index = find(id);
  if (index == kNone) return false;
  if (--open_[index].calls > 0) return true;
  // A call that ends without a wait: the program asked whether it was ready, or another thread carried it out.
  if (open_[index].is_pending && !open_[index].is_waited_for) write_wait(index, time_ns);
  const Open& entry = open_[index];
  std::array<char, 32> text = {' ', '='};
  const char* const end = write_time(text.data() + 2, microseconds(entry.begin_ns, time_ns));
  file_->extend(entry.line_end, {text.data(), static_cast<std::size_t>(end - text.data())});
  last_ns_ = std::max(last_ns_, time_ns);
  open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  return true;
}

void RankWriter::meet(std::uint64_t id, std::int32_t from, std::int32_t tag) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(receiving_, id, &std::pair<std::uint64_t, std::uint64_t>::first);
  if (!is_active() || found == receiving_.end()) return;
  file_->append("met " + std::to_string(found->second) + " from=" + std::to_string(from) +
                " tag=" + std::to_string(tag));
  receiving_.erase(found);
}

void RankWriter::leave_out(std::string_view function) {
  const std::scoped_lock lock(mutex_);
  if (!is_active() || std::ranges::find(left_out_, function) != left_out_.end()) return;
  left_out_.emplace_back(function);
  // A group may be open: the line stands between its operations and is none of them.
  file_->append("left_out " + quoted(function));
}

void RankWriter::finish() {
  const std::scoped_lock lock(mutex_);
  if (is_active()) {
    if (open_group_ != 0) end_group();
    file_->append("finished");
  }
  if (generation_ == generation.load(std::memory_order_relaxed)) file_.reset();
}

void RankWriter::write_event(std::string_view text, std::uint64_t time_ns) {
  line_.assign(text);
  if (time_ns > last_ns_) {
    std::array<char, 32> gap{};
    line_ += " +";
    line_.append(gap.data(), write_time(gap.data(), microseconds(last_ns_, time_ns)));
  }
  if (file_->append(line_)) return;
  is_full_ = true;
  // The file keeps room for this line.
  line_ = std::string("problem ") + quoted(file_->problem());
  file_->extend(file_->size(), "\n" + line_);
}

void RankWriter::end_group() {
  open_group_ = 0;
  if (!file_->append("end")) is_full_ = true;
}

void RankWriter::write_operation(const SeenOperation& operation, std::uint64_t time_ns) {
  const std::uint32_t number = number_of(operation);
  if (number == 0) return write_event(operation_text(copy_of(operation), operation.communicator), time_ns);
  std::array<char, 16> text = {'#'};
  const char* const end = std::to_chars(text.data() + 1, text.data() + text.size(), number).ptr;
  write_event({text.data(), static_cast<std::size_t>(end - text.data())}, time_ns);
}

/// Defines an operation that is new; 0 when there are too many.
std::uint32_t RankWriter::number_of(const SeenOperation& operation) {
  const std::uint64_t hash = hash_of(operation);
  std::size_t place = hash % kSlots;
  for (; slots_[place].number != 0; place = (place + 1) % kSlots) {
    if (slots_[place].hash == hash && equal(operation, defined_[slots_[place].number - 1])) return slots_[place].number;
  }
  if (defined_.size() == kMostDefined || defined_bytes_ + memory_of(operation) > kMostDefinedBytes) return 0;
  defined_.push_back(copy_of(operation));
  defined_bytes_ += memory_of(operation);
  const auto number = static_cast<std::uint32_t>(defined_.size());
  slots_[place] = {hash, number};
  if (!file_->append("define " + std::to_string(number) + ' ' +
                     operation_text(defined_.back(), operation.communicator)))
    is_full_ = true;
  return number;
}

void RankWriter::write_wait(std::size_t index, std::uint64_t time_ns) {
  if (open_group_ != 0) end_group();
  // Numbered among the pending ones, as the reader counts them: those that were waited for are out already.
  std::size_t number = 0;
  for (std::size_t i = 0; i < index; ++i) number += open_[i].is_pending && !open_[i].is_waited_for ? 1 : 0;
  write_event(number == 0 ? std::string("wait") : "wait " + std::to_string(number), time_ns);
  Open& entry = open_[index];
  entry.is_waited_for = true;
  entry.line_end = file_->size();
  entry.begin_ns = time_ns;
}

std::size_t RankWriter::find(std::uint64_t id) const noexcept {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i].id == id || std::ranges::find(open_[i].more, id) != open_[i].more.end()) return i;
  }
  return kNone;
}

}  // namespace tutti::replay
