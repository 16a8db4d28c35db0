#include "segment/segment.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {
namespace {

constexpr const char* kNamePrefix = "/tutti-";

// Segments that this process has mapped, shared by ranks that are its threads.
class Registry {
 public:
  void add(const std::string& id, const std::shared_ptr<Segment>& segment) {
    const std::scoped_lock lock(mutex_);
    std::erase_if(segments_, [](const auto& entry) { return entry.second.expired(); });
    segments_[id] = segment;
  }
  [[nodiscard]] std::shared_ptr<Segment> find(const std::string& id) {
    const auto entry = segments_.find(id);
    return entry == segments_.end() ? nullptr : entry->second.lock();
  }
  // Held while a segment is looked for and opened, so that two threads of a process do not both open it.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() { return std::unique_lock(mutex_); }

 private:
  std::recursive_mutex mutex_;
  std::map<std::string, std::weak_ptr<Segment>> segments_;
};

Registry& registry() {
  static auto* instance = new Registry;  // never destroyed: a communicator may outlive static objects
  return *instance;
}

std::uint64_t budget_for(const Config& config, int ranks) {
  const std::uint64_t cap = config.bytes("TUTTI_NATIVE_SEGMENT_BYTES");
  if (ranks <= 64) return cap;
  // The number of pairs grows with the square of the ranks, and so does the memory for slots of the same size.
  const auto n = static_cast<std::uint64_t>(ranks);
  return std::max(cap, cap / 4096 * n * n);
}

std::vector<std::string> kinds_to_try(const spi::CreateContext& context) {
  if (context.peers.same_process) return {"process"};
  const std::string& choice = context.config.text("TUTTI_NATIVE_SEGMENT");
  if (choice == "auto") return {"memfd", "shm"};
  return {choice};
}

// Rank 0 may have been killed before it told another rank its name.
void remove_abandoned_names() {
  const auto lock = registry().lock();
  for (const std::string& name : api::abandoned_shm(kNamePrefix)) {
    // Locks of the own process are not visible.
    if (registry().find(name.substr(std::string_view(kNamePrefix).size())) == nullptr) api::unlink_shm(name);
  }
}

// Removes the name of a segment from /dev/shm when all ranks have opened it or failed to.
class Unlinker {
 public:
  void arm(std::string name) { name_ = std::move(name); }
  ~Unlinker() {
    if (!name_.empty()) api::unlink_shm(name_);
  }

 private:
  std::string name_;
};

}  // namespace

Geometry geometry_for(const Config& config, int ranks) {
  return Geometry::choose(ranks, budget_for(config, ranks), cache_sizes());
}

/// The text by which the other ranks find the segment of rank 0.
class SegmentOffer {
 public:
  // Creates a segment; returns it with the text to send.
  static std::shared_ptr<Segment> create(const std::string& kind, const spi::CreateContext& context, Unlinker& unlinker,
                                         std::string& text) {
    const std::string id = api::random_name();
    const Geometry geometry = geometry_for(context.config, context.peers.size);
    const std::size_t bytes = Layout::bytes(geometry);
    std::ostringstream offer;
    offer << kind << ' ' << id << ' ';
    api::FileDescriptor file;
    if (kind == "memfd") {
      file = api::create_memfd(bytes);
      offer << api::process_id() << ' ' << file.get();
    } else if (kind == "shm") {
      remove_abandoned_names();
      const std::string name = kNamePrefix + id;
      file = api::create_shm(name, bytes);
      unlinker.arm(name);
      offer << name;
    }
    api::Mapping mapping = file ? api::Mapping(file, bytes) : api::Mapping(bytes);
    std::shared_ptr<Segment> segment(new Segment(kind, std::move(file), std::move(mapping), geometry, true));
    segment->bring_in(segment->layout().common());
    segment->layout().construct();
    std::copy_n(id.c_str(), id.size() + 1, segment->layout().header().id.data());
    registry().add(id, segment);
    text = offer.str();
    return segment;
  }

  // Opens the segment that rank 0 offers.
  static std::shared_ptr<Segment> open(const std::string& text, Unlinker& unlinker) {
    std::istringstream offer(text);
    std::string kind;
    std::string id;
    offer >> kind >> id;
    const auto lock = registry().lock();
    if (std::shared_ptr<Segment> mine = registry().find(id)) return mine;
    if (kind == "process")
      throw Error(ErrorCode::system,
                  "rank 0 created the segment in another process, for threads of its own process only", "native");
    api::FileDescriptor file;
    if (kind == "memfd") {
      std::int64_t pid = 0;
      int fd = -1;
      offer >> pid >> fd;
      file = api::open_memfd(pid, fd);
    } else {
      std::string name;
      offer >> name;
      unlinker.arm(name);  // rank 0 may die before it removes the name
      file = api::open_shm(name);
    }
    const std::size_t bytes = api::checked_file_size(file);
    if (bytes < sizeof(SegmentHeader)) {
      throw Error(ErrorCode::system, "the file opened as the " + kind + " segment of rank 0 is too short", "native");
    }
    api::Mapping mapping(file, bytes);
    const auto& header = *static_cast<const SegmentHeader*>(mapping.data());
    if (!std::equal(id.begin(), id.end(), header.id.begin()) || Layout::bytes(header.geometry) != bytes) {
      throw Error(ErrorCode::system, "the file opened as the " + kind + " segment of rank 0 is another file", "native");
    }
    const Geometry geometry = header.geometry;
    std::shared_ptr<Segment> segment(new Segment(kind, std::move(file), std::move(mapping), geometry, false));
    registry().add(id, segment);
    return segment;
  }
};

std::shared_ptr<Segment> Segment::join(const spi::CreateContext& context) {
  const Rendezvous& rendezvous = context.rendezvous;
  const int rank = context.peers.rank;
  std::string reasons;
  for (const std::string& kind : kinds_to_try(context)) {
    Unlinker unlinker;
    std::shared_ptr<Segment> segment;
    std::string offer;
    std::string problem;
    try {
      if (rank == 0) segment = SegmentOffer::create(kind, context, unlinker, offer);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    if (context.peers.size == 1) {
      if (segment == nullptr) throw Error(ErrorCode::system, problem, "native");
      segment->hold(0);
      (void)segment->mapping_.populate(0, segment->bytes());
      return segment;
    }
    offer = rendezvous.broadcast("native.segment", offer, 0);
    try {
      if (rank != 0 && !offer.empty()) segment = SegmentOffer::open(offer, unlinker);
      if (segment != nullptr) segment->hold(rank);
    } catch (const std::exception& error) {
      problem = error.what();
    }
    // When this returns all ranks have tried: the name can be removed, and the locks of all ranks are visible.
    const std::vector<std::string> problems = rendezvous.allgather("native.attached", problem);
    const bool good =
        std::all_of(problems.begin(), problems.end(), [](const std::string& text) { return text.empty(); });
    if (good && segment != nullptr) {
      (void)segment->mapping_.populate(0, segment->bytes());  // also the parts of other ranks
      return segment;
    }
    for (std::size_t r = 0; r < problems.size(); ++r) {
      if (!problems[r].empty()) reasons += "; " + kind + ": rank " + std::to_string(r) + ": " + problems[r];
    }
  }
  throw Error(ErrorCode::system, "the ranks cannot share memory" + reasons, "native");
}

Segment::Segment(std::string kind, api::FileDescriptor file, api::Mapping mapping, const Geometry& geometry,
                 bool creator)
    : kind_(std::move(kind)),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      layout_(static_cast<std::byte*>(mapping_.data()), geometry),
      creator_(creator) {
  // Shared memory is reported once, by the rank that created it.
  if (creator_) spi::report_allocation("native", mapping_.data(), mapping_.bytes());
}

Segment::~Segment() {
  if (creator_) spi::report_free("native", mapping_.data(), mapping_.bytes());
}

void Segment::bring_in(const Layout::Part& part) const {
  const int code = file_ ? api::reserve(file_, part.offset, part.bytes) : 0;
  if (code != 0) throw_lack_of_memory(code);
  const int missing = mapping_.populate(part.offset, part.bytes);
  if (missing != 0) throw_lack_of_memory(missing);
}

void Segment::throw_lack_of_memory(int code) const {
  const std::string ranks = std::to_string(layout_.geometry().ranks);
  const std::string remedy =
      kind_ == "shm" ? " in /dev/shm; enlarge it (in a container: --shm-size, e.g. --shm-size=1g; elsewhere: mount -o "
                       "remount,size=1g /dev/shm), remove files from it"
                     : "; raise the memory limit of the container or cgroup, free memory";
  throw Error(ErrorCode::system,
              "a communicator of " + ranks + " ranks needs " + std::to_string(bytes()) + " bytes (" +
                  format_bytes(bytes()) + ") of shared memory" + remedy +
                  ", or lower TUTTI_NATIVE_SEGMENT_BYTES: " + std::generic_category().message(code),
              "native", code);
}

void Segment::hold(int rank) const {
  for (const Layout::Part& part : layout_.parts(rank)) {
    if (part.bytes > 0) bring_in(part);
  }
  layout_.construct(rank);
  // The lock shows the other ranks that this process is alive.
  if (file_ && !api::lock_byte(file_, rank)) {
    throw Error(ErrorCode::system,
                "rank " + std::to_string(rank) + " cannot lock its byte of the " + kind_ +
                    " segment (fcntl F_SETLK): " + std::generic_category().message(errno),
                "native");
  }
  layout_.control(rank).cores = api::usable_cores();
  layout_.control(rank).state.store(RankState::joined, std::memory_order_release);
}

int Segment::ranks_per_core() const noexcept {
  const auto ranks = static_cast<int>(layout_.geometry().ranks);
  int cores = 0;
  for (std::size_t word = 0; word < api::CoreSet().size(); ++word) {
    std::uint64_t bits = 0;
    for (int r = 0; r < ranks; ++r) bits |= layout_.control(r).cores[word];
    cores += std::popcount(bits);
  }
  return (ranks + cores - 1) / std::max(cores, 1);
}

void Segment::release(int rank) const noexcept {
  layout_.control(rank).state.store(RankState::left, std::memory_order_release);
  if (file_) api::unlock_byte(file_, rank);
}

bool Segment::is_held(int rank) const noexcept { return !file_ || api::is_locked_elsewhere(file_, rank); }

}  // namespace tutti::native
