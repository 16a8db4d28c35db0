#include "report/session_reader.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "report/process_file.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::profiling {
namespace {

using layout::DescriptionType;

// Texts go to terminals and into files of other formats, wherever they come from.
std::string clean(std::string_view text) { return spi::printable(text, text.size()); }

// Numbers of a process's file as those of the profile. A file's numbers begin with 1.
class Numbers {
 public:
  // The file's numbers come in order; another one is damage, and is left out.
  bool add(std::uint32_t number, int index) {
    if (number != indices_.size() + 1) return false;
    indices_.push_back(index);
    return true;
  }
  [[nodiscard]] int of(std::uint64_t number) const noexcept {
    return number == 0 || number > indices_.size() ? -1 : indices_[static_cast<std::size_t>(number - 1)];
  }

 private:
  std::vector<int> indices_;
};

class Merger {
 public:
  explicit Merger(Profile& profile) : profile_(profile) {}
  void add(const std::filesystem::path& path, const ReadOptions& options);

 private:
  // Facts that a row and its events share, in numbers of the profile.
  struct Shared {
    Kind kind = Kind::host;
    int source = -1;
    int device = -1;
    int context = -1;
    std::uint32_t name = 0;
    std::uint32_t region = 0;
    auto operator<=>(const Shared&) const = default;
  };

  [[nodiscard]] std::uint32_t name(const std::string& text);
  template <typename Key, typename Row>
  [[nodiscard]] static int index_of(std::map<Key, int>& known, const Key& key, std::vector<Row>& rows, Row row);
  void add_process(const ProcessFile& file);
  void add_descriptions(const ProcessFile& file);
  void add_description(const ProcessFile::Text& text, bool& damaged);
  void add_rows(const ProcessFile& file);
  void add_row(const ProcessFile::Row& row);
  void add_balances(const ProcessFile& file);
  void add_events(ProcessFile& file);
  [[nodiscard]] int memory_row(const Shared& shared);

  Profile& profile_;
  std::unordered_map<std::string, std::uint32_t> names_ = {{"", 0}};
  std::map<std::tuple<std::string, int>, int> sources_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, int> devices_;
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint32_t>, int> contexts_;

  // Of the process that is being added:
  int process_ = -1;
  std::string problem_;
  Numbers name_numbers_, source_numbers_, device_numbers_, context_numbers_, communicator_numbers_;
  std::unordered_map<layout::RowPlace, Shared> shared_;
  std::map<std::pair<std::uint32_t, Shared>, std::size_t> rows_;
  std::map<std::tuple<int, std::uint32_t, int>, int> memory_;
};

std::uint32_t Merger::name(const std::string& text) {
  const auto [at, added] = names_.try_emplace(text, static_cast<std::uint32_t>(profile_.names.size()));
  if (added) profile_.names.push_back(text);
  return at->second;
}

template <typename Key, typename Row>
int Merger::index_of(std::map<Key, int>& known, const Key& key, std::vector<Row>& rows, Row row) {
  const auto [at, added] = known.try_emplace(key, static_cast<int>(rows.size()));
  if (added) rows.push_back(std::move(row));
  return at->second;
}

void Merger::add(const std::filesystem::path& path, const ReadOptions& options) {
  ProcessFile file = read_process_file(path, options.events);
  if (file.header.discarded == 1) return;
  process_ = static_cast<int>(profile_.processes.size());
  problem_ = file.problem;
  name_numbers_ = source_numbers_ = device_numbers_ = context_numbers_ = communicator_numbers_ = {};
  shared_.clear();
  rows_.clear();
  memory_.clear();
  add_process(file);
  add_descriptions(file);
  add_rows(file);
  add_balances(file);
  add_events(file);

  ProcessRow& process = profile_.processes.back();
  const std::string whose = "process " + std::to_string(process.pid) + " on " + process.host;
  if (!problem_.empty()) {
    if (process.problem.empty()) process.problem = problem_;
    profile_.warnings.push_back("session file " + path.string() + ": " + problem_);
  }
  if (process.dropped > 0) {
    profile_.warnings.push_back(std::to_string(process.dropped) + " records of " + whose + " were dropped" +
                                (process.problem.empty() ? "" : ": " + process.problem));
  } else if (process.dropped_events > 0) {
    profile_.warnings.push_back(std::to_string(process.dropped_events) + " records of " + whose +
                                " are not in the timeline" + (process.problem.empty() ? "" : ": " + process.problem));
  } else if (!process.problem.empty() && problem_.empty()) {
    profile_.warnings.push_back(whose + ": " + process.problem);
  }
}

void Merger::add_process(const ProcessFile& file) {
  const layout::Header& header = file.header;
  ProcessRow& process = profile_.processes.emplace_back();
  process.host = clean(header.host);
  process.command = clean(header.command);
  process.pid = header.pid;
  process.rank = header.rank;
  process.size = header.size;
  process.begin_ns = header.begin_ns;
  process.end_ns = file.last_ns;
  process.realtime_offset = header.realtime_offset;
  process.ended = header.ended == 1;
  process.dropped = file.dropped;
  process.dropped_events = file.dropped_events;
  process.cost_ns = static_cast<double>(header.cost_ps) / 1000;
  process.file_bytes = file.file_bytes;
  process.resident_peak = header.resident_peak;
  process.problem = clean(header.problem);
}

void Merger::add_descriptions(const ProcessFile& file) {
  bool damaged = false;
  for (const ProcessFile::Text& text : file.descriptions) add_description(text, damaged);
  if (damaged && problem_.empty()) problem_ = "its descriptions are damaged; names are missing";
}

void Merger::add_description(const ProcessFile::Text& text, bool& damaged) {
  const layout::Entry& entry = text.entry;
  std::array<std::string, layout::kTexts> texts;
  std::transform(std::begin(text.texts), std::end(text.texts), texts.begin(), clean);
  bool added = false;
  switch (entry.type) {
    case DescriptionType::name:
      added = name_numbers_.add(entry.number, static_cast<int>(name(texts[0])));
      break;
    case DescriptionType::source:
      added = source_numbers_.add(entry.number, index_of(sources_, {texts[0], entry.c}, profile_.sources,
                                                         SourceRow{.title = texts[0], .level = entry.c}));
      break;
    case DescriptionType::device:
      added = device_numbers_.add(entry.number,
                                  index_of(devices_, {entry.a, entry.b, texts[0]}, profile_.devices,
                                           DeviceRow{.name = texts[0], .device = entry.a, .sub_device = entry.b}));
      break;
    case DescriptionType::context: {
      const auto ranks = static_cast<std::uint32_t>(entry.c);
      added = context_numbers_.add(
          entry.number, index_of(contexts_, {texts[0], texts[1], texts[2], texts[3], entry.a, ranks}, profile_.contexts,
                                 ContextRow{texts[0], texts[1], texts[2], texts[3], entry.a, ranks}));
      break;
    }
    case DescriptionType::communicator:
      added = communicator_numbers_.add(entry.number, static_cast<int>(profile_.communicators.size()));
      if (added) profile_.communicators.push_back({entry.a, texts[0], process_, entry.c, entry.d});
      break;
    case DescriptionType::none:
      break;
  }
  damaged = damaged || !added;
}

void Merger::add_rows(const ProcessFile& file) {
  for (const ProcessFile::Row& row : file.rows) {
    if (row.row.key.kind >= kKindCount) {
      if (problem_.empty()) problem_ = "a row has no known kind; it is left out";
      continue;
    }
    add_row(row);
  }
}

void Merger::add_row(const ProcessFile::Row& from) {
  const layout::RowKey& key = from.row.key;
  const Shared shared{.kind = static_cast<Kind>(key.kind),
                      .source = source_numbers_.of(key.source),
                      .device = device_numbers_.of(key.device),
                      .context = context_numbers_.of(key.context),
                      .name = static_cast<std::uint32_t>(std::max(0, name_numbers_.of(key.name))),
                      .region = static_cast<std::uint32_t>(std::max(0, name_numbers_.of(key.region)))};
  shared_.emplace(from.place, shared);
  const auto [at, added] = rows_.try_emplace({from.thread, shared}, profile_.rows.size());
  if (added) {
    TallyRow& row = profile_.rows.emplace_back();
    row.kind = shared.kind;
    row.source = shared.source;
    row.process = process_;
    row.thread = from.thread;
    row.device = shared.device;
    row.context = shared.context;
    row.name = profile_.names[shared.name];
    row.region = profile_.names[shared.region];
  }
  Statistics statistics;
  statistics.calls = from.row.calls;
  statistics.errors = std::min(from.row.errors, from.row.calls);
  statistics.total = from.row.total;
  statistics.min = from.row.min;
  statistics.max = from.row.max;
  statistics.bytes = from.row.bytes;
  for (std::size_t bucket = 0; bucket < kBucketCount; ++bucket) {
    if (from.row.buckets[bucket] != 0) statistics.values.add_bucket(bucket, from.row.buckets[bucket]);
  }
  profile_.rows[at->second].statistics.add(statistics);
  profile_.processes.back().records += statistics.calls;

  if (shared.kind != Kind::allocation && shared.kind != Kind::release) return;
  MemoryRow& memory = profile_.memory[static_cast<std::size_t>(memory_row(shared))];
  const std::uint64_t succeeded = statistics.calls - statistics.errors;
  (shared.kind == Kind::allocation ? memory.allocations : memory.releases) += succeeded;
  (shared.kind == Kind::allocation ? memory.allocated_bytes : memory.released_bytes) += statistics.total;
}

int Merger::memory_row(const Shared& shared) {
  MemoryRow row;
  row.owner = profile_.names[shared.name];
  row.source = shared.source;
  row.process = process_;
  row.device = shared.device;
  return index_of(memory_, {shared.source, shared.name, shared.device}, profile_.memory, std::move(row));
}

void Merger::add_balances(const ProcessFile& file) {
  for (const layout::Balance& balance : file.balances) {
    const Shared shared{.kind = Kind::allocation,
                        .source = source_numbers_.of(balance.source),
                        .device = device_numbers_.of(balance.device),
                        .name = static_cast<std::uint32_t>(std::max(0, name_numbers_.of(balance.name)))};
    if (balance.peak <= 0) continue;
    MemoryRow& memory = profile_.memory[static_cast<std::size_t>(memory_row(shared))];
    memory.peak_bytes = std::max(memory.peak_bytes, static_cast<std::uint64_t>(balance.peak));
  }
}

void Merger::add_events(ProcessFile& file) {
  constexpr std::uint64_t kSequences = (std::uint64_t{1} << layout::kSequenceBits) - 1;
  const std::size_t first = profile_.events.size();
  profile_.events.reserve(first + file.events.size());
  for (const ProcessFile::Event& from : file.events) {
    const auto shared = shared_.find(from.event.row);
    if (shared == shared_.end()) {
      if (problem_.empty()) problem_ = "an event belongs to no row; it is left out";
      continue;
    }
    EventRow& event = profile_.events.emplace_back();
    event.kind = shared->second.kind;
    event.source = shared->second.source;
    event.process = process_;
    event.device = shared->second.device;
    event.context = shared->second.context;
    event.communicator = communicator_numbers_.of(from.event.operation >> layout::kSequenceBits);
    event.thread = from.thread;
    event.name = shared->second.name;
    event.region = shared->second.region;
    event.error = from.event.error;
    event.begin_ns = from.event.begin_ns;
    event.end_ns = std::max(from.event.begin_ns, from.event.end_ns);
    event.bytes = from.event.bytes;
    event.correlation = from.event.correlation;
    event.sequence = from.event.operation & kSequences;
  }
  std::stable_sort(profile_.events.begin() + static_cast<std::ptrdiff_t>(first), profile_.events.end(),
                   [](const EventRow& a, const EventRow& b) { return a.begin_ns < b.begin_ns; });
}

}  // namespace

Profile read_session(const std::filesystem::path& folder, const ReadOptions& options) {
  const std::vector<std::filesystem::path> files = process_files(folder);
  if (files.empty()) {
    throw std::runtime_error("folder " + folder.string() + " holds no profiling session: it has no file of a process");
  }
  Profile profile;
  Merger merger(profile);
  for (const std::filesystem::path& file : files) {
    try {
      merger.add(file, options);
    } catch (const std::runtime_error& problem) {
      profile.warnings.emplace_back(problem.what());
    }
  }
  return profile;
}

}  // namespace tutti::profiling
