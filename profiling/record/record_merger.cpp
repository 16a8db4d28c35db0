#include "record/record_merger.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "record/receive_matcher.hpp"
#include "record/record_text.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::replay {

namespace {

[[noreturn]] void fail(const std::string& text) { throw Error(ErrorCode::invalid_argument, text); }

class Merger {
 public:
  explicit Merger(std::vector<RecordPart> parts) : parts_(std::move(parts)) {
    std::ranges::sort(parts_, {}, &RecordPart::rank);
    check_parts();
  }

  MergedRecord merge() {
    collect_communicators();
    for (const RecordPart& part : parts_) add_sequence(part);
    for (int rank = 0; rank < merged_.record.ranks; ++rank) {
      if (std::ranges::none_of(parts_, [rank](const RecordPart& part) { return part.rank == rank; }))
        merged_.record.sequences.push_back({.ranks = {rank}, .events = {}, .gaps = {}, .times = {}});
    }
    return std::move(merged_);
  }

 private:
  void check_parts() {
    if (parts_.empty()) fail("no rank left a part of a record");
    merged_.record.ranks = parts_.front().ranks;
    merged_.record.backend = parts_.front().record.backend;
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const RecordPart& part = parts_[i];
      if (part.ranks != merged_.record.ranks)
        fail("the parts are of jobs of different size: rank " + std::to_string(part.rank) + " is of " +
             std::to_string(part.ranks) + " ranks, rank " + std::to_string(parts_.front().rank) + " of " +
             std::to_string(merged_.record.ranks));
      if (i > 0 && parts_[i - 1].rank == part.rank)
        fail("two processes are rank " + std::to_string(part.rank) +
             ": the command ran several jobs, or its first communicator has not all ranks; record one job at a time");
      if (part.is_cut_off)
        merged_.warnings.push_back("rank " + std::to_string(part.rank) + " did not end in order" +
                                   (part.problem.empty() ? "" : " (" + spi::printable(part.problem) + ")") +
                                   ": the record holds its operations until then");
    }
    note_left_out();
    std::vector<int> absent;
    for (int rank = 0; rank < merged_.record.ranks; ++rank) {
      if (std::ranges::find(parts_, rank, &RecordPart::rank) == parts_.end()) absent.push_back(rank);
    }
    if (!absent.empty())
      merged_.warnings.push_back("rank " + ranks_text(absent) + " left no part: the record lacks its operations");
  }

  void note_left_out() {
    std::map<std::string, std::vector<int>> ranks_of;
    for (const RecordPart& part : parts_) {
      for (const std::string& function : part.left_out) ranks_of[function].push_back(part.rank);
    }
    for (const auto& [function, ranks] : ranks_of)
      merged_.warnings.push_back("calls of " + spi::printable(function) + " by rank " + ranks_text(ranks) +
                                 " are not in the record: tutti has no such operation");
  }

  void collect_communicators() {
    struct Seen {
      std::vector<int> ranks;
      std::string name;
    };
    std::map<std::uint64_t, Seen> seen;
    std::vector<std::uint64_t> order;
    for (const RecordPart& part : parts_) {
      for (std::size_t i = 1; i < part.record.communicators.size(); ++i) {
        const RecordedCommunicator& one = part.record.communicators[i];
        const auto [entry, is_new] = seen.try_emplace(one.key);
        if (is_new) {
          order.push_back(one.key);
          entry->second = {std::vector<int>(static_cast<std::size_t>(one.size), -1), one.name};
        }
        if (entry->second.ranks.size() != static_cast<std::size_t>(one.size))
          fail("the ranks of communicator \"" + spi::printable(one.name) + "\" disagree about its size");
        entry->second.ranks[static_cast<std::size_t>(one.rank)] = part.rank;
      }
    }
    for (const std::uint64_t key : order) add_communicator(key, seen[key].ranks, seen[key].name);
  }

  void add_communicator(std::uint64_t key, const std::vector<int>& ranks, const std::string& name) {
    std::vector<RecordedCommunicator>& all = merged_.record.communicators;
    bool is_job = ranks.size() == static_cast<std::size_t>(merged_.record.ranks);
    for (std::size_t i = 0; i < ranks.size(); ++i) is_job = is_job && (ranks[i] == static_cast<int>(i) || ranks[i] < 0);
    if (is_job && !has_job_) {
      has_job_ = true;
      index_of_key_[key] = 0;
      all[0].name = name;
      return;
    }
    if (!is_job && std::ranges::find(ranks, -1) != ranks.end())
      fail("communicator \"" + spi::printable(name) + "\" has members that left no part; the record cannot name them");
    index_of_key_[key] = static_cast<std::uint32_t>(all.size());
    RecordedCommunicator added{.number = static_cast<std::uint32_t>(all.size()), .name = name, .ranks = {}};
    if (!is_job) added.ranks = ranks;
    all.push_back(std::move(added));
  }

  void add_sequence(const RecordPart& part) {
    const JobRecord& from = part.record;
    std::vector<std::uint32_t> index_of(from.operations.size());
    for (std::size_t i = 0; i < from.operations.size(); ++i) {
      RecordedOperation op = from.operations[i];
      op.communicator = index_of_key_.at(from.communicators[op.communicator].key);
      index_of[i] = index_of_operation(std::move(op));
    }
    Sequence sequence = from.sequences.front();
    for (Event& event : sequence.events) {
      if (event.kind == EventKind::operation) event.value = index_of[event.value];
    }
    const auto same = std::ranges::find(merged_.record.sequences, sequence.events, &Sequence::events);
    if (same == merged_.record.sequences.end()) {
      merged_.record.sequences.push_back(std::move(sequence));
    } else {
      join(*same, sequence);
    }
  }

  std::uint32_t index_of_operation(RecordedOperation op) {
    auto& operations = merged_.record.operations;
    const auto [found, is_new] =
        index_of_text_.try_emplace(operation_text(op, op.communicator), static_cast<std::uint32_t>(operations.size()));
    if (is_new) operations.push_back(std::move(op));
    return found->second;
  }

  /// Adds the times of a rank with the same events.
  static void join(Sequence& all, const Sequence& added) {
    const std::size_t width = all.width + 1;
    for (const auto member : {&Sequence::gaps, &Sequence::times}) {
      std::vector<float> wide;
      wide.reserve(all.events.size() * width);
      for (std::size_t event = 0; event < all.events.size(); ++event) {
        const auto begin = (all.*member).begin() + static_cast<std::ptrdiff_t>(event * all.width);
        wide.insert(wide.end(), begin, begin + static_cast<std::ptrdiff_t>(all.width));
        wide.push_back((added.*member)[event]);
      }
      all.*member = std::move(wide);
    }
    all.width = width;
    all.ranks.push_back(added.ranks.front());
  }

  std::vector<RecordPart> parts_;
  MergedRecord merged_;
  bool has_job_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> index_of_key_;
  std::unordered_map<std::string, std::uint32_t> index_of_text_;
};

}  // namespace

MergedRecord merge(std::vector<RecordPart> parts) { return Merger(std::move(parts)).merge(); }

MergedRecord merge_folder(const std::string& folder) {
  std::vector<RecordPart> parts;
  std::vector<RecordPart> mpi_parts;
  std::vector<std::string> unreadable;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".part") continue;
    try {
      const bool is_of_mpi = entry.path().filename().string().starts_with(kMpiParts);
      (is_of_mpi ? mpi_parts : parts).push_back(load_part(entry.path().string()));
    } catch (const Error& problem) {
      unreadable.push_back(problem.what());
    }
  }
  if (error)
    throw Error(ErrorCode::system, "folder " + folder + " cannot be read: " + error.message(), {}, error.value());
  // Calls of MPI by a program that uses tutti, or by oneCCL on its behalf, are no part of the record.
  if (parts.empty()) {
    parts = std::move(mpi_parts);
    for (RecordPart& part : parts) resolve_receives(part);
    match_receives(parts);
  }
  if (parts.empty()) {
    throw Error(ErrorCode::system, unreadable.empty() ? "nothing was recorded: the command called neither tutti nor MPI"
                                                      : "nothing was recorded: " + unreadable.front());
  }
  MergedRecord merged;
  try {
    merged = merge(std::move(parts));
  } catch (const Error& problem) {
    if (unreadable.empty()) throw;
    throw Error(ErrorCode::invalid_argument, unreadable.front() + "; without it " + problem.what());
  }
  merged.warnings.insert(merged.warnings.end(), unreadable.begin(), unreadable.end());
  return merged;
}

}  // namespace tutti::replay
