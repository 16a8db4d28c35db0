#include "session/session.hpp"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "session/process_facts.hpp"

namespace tutti::profiling {

constinit Session session;

namespace {

using layout::Balance;
using layout::BlockHeader;
using layout::BlockType;
using layout::Entry;
using layout::Header;

constinit std::atomic<std::uint32_t> recording_off{0};
constinit std::atomic<std::uint32_t> recording_on{1};

std::atomic<std::uint32_t>& recording_of(Header& header) noexcept {
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(header.recording));
  return reinterpret_cast<std::atomic<std::uint32_t>&>(header.recording);
}

}  // namespace

namespace detail {
constinit std::atomic<const std::atomic<std::uint32_t>*> recording{&recording_off};
}  // namespace detail

SlowPath::SlowPath() noexcept : page_(session.page_), error_(errno) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_);
  page_->lock.lock();
}

SlowPath::~SlowPath() {
  page_->lock.unlock();
  pthread_setcancelstate(cancel_, nullptr);
  errno = error_;
}

void Session::load() noexcept {
  read_environment(config_);
  if (config_.problem[0] != 0) problem_ = config_.problem;
  paused_ = config_.paused;
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED) page_ = new (page) ForkPage{};
  wiped_ = page != MAP_FAILED && madvise(page, page_bytes, MADV_WIPEONFORK) == 0;
  const SlowPath slow;
  // A paused process is there from the beginning, so that it can be told to start.
  if (paused_ && rank_is_wanted()) static_cast<void>(open_file());
  apply();
}

std::uint32_t Session::describe(const Description& wanted, bool may_add) noexcept {
  if (const std::uint32_t number = descriptions_.find(wanted); number != 0 || !may_add) return number;
  const SlowPath slow;
  if (const std::uint32_t number = descriptions_.find(wanted); number != 0) return number;
  const std::uint32_t number = descriptions_.add(wanted);
  if (number != 0 && generation() != 0) publish_descriptions();
  return number;
}

bool Session::open_file() noexcept {
  if (generation() != 0) return true;
  if (file_.open()) leave_parent();
  if (failed_ || config_.folder[0] == 0) return false;
  if (const char* problem = file_.create(config_.folder, config_.memory)) {
    note(problem);
    failed_ = true;
    apply();
    return false;
  }
  if (cost_ps_ == 0) measure_cost();
  write_header();
  publish_descriptions();
  // Release: a thread that sees the new generation sees the new file.
  page_->generation.store(++generations_, std::memory_order_release);
  // Of signal handlers that came meanwhile.
  std::atomic_ref(file_.header()->dropped).fetch_add(early_dropped_.exchange(0), std::memory_order_relaxed);
  apply();
  return true;
}

// Everything that belongs to the parent's file stays behind; descriptions, rank and settings go on.
void Session::leave_parent() noexcept {
  paused_ = recording_of(*file_.header()).load(std::memory_order_relaxed) == 0;
  file_.forget();
  published_ = 0;
  description_block_ = nullptr;
  balance_block_ = nullptr;
  tables_ = 0;
  ended_tables_ = nullptr;
  full_ = false;
  events_full_ = false;
  early_dropped_ = 0;
}

void Session::write_header() noexcept {
  Header& header = *file_.header();
  header.version = layout::kVersion;
  header.block_bytes = layout::kBlockBytes;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.parent = static_cast<std::uint32_t>(getppid());
  header.begin_ns = now_ns();
  header.realtime_offset = realtime_offset();
  header.memory_limit = config_.memory;
  header.cost_ps = cost_ps_;
  header.timeline = config_.timeline ? 1 : 0;
  header.rank = config_.rank;
  header.size = config_.size;
  header.blocks = 1;
  header.resident_peak = resident_peak();
  looked_ = header.begin_ns;
  read_host(header.host);
  read_command(header.command);
  write_problem();
  read_control();
  recording_of(header).store(paused_ ? 0 : 1, std::memory_order_relaxed);
  std::atomic_ref(header.magic).store(layout::kMagic, std::memory_order_release);
}

void Session::read_control() noexcept {
  char path[PATH_MAX + 16];
  std::snprintf(path, sizeof path, "%s/%s", config_.folder, layout::kControlFile);
  char text[8] = "";
  const std::size_t bytes = read_small_file(path, {text, sizeof text});
  const std::string_view wish(text, bytes);
  if (wish.starts_with("stop")) paused_ = true;
  if (wish.starts_with("start")) paused_ = false;
}

ThreadTable* Session::new_table() noexcept {
  constexpr std::size_t kPoolBytes = std::size_t{64} << 10;
  if (pool_left_ < sizeof(ThreadTable)) {
    void* memory = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    pool_ = static_cast<char*>(memory);
    pool_left_ = kPoolBytes;
  }
  auto* table = reinterpret_cast<ThreadTable*>(pool_);
  pool_ += sizeof(ThreadTable);
  pool_left_ -= sizeof(ThreadTable);
  return table;
}

ThreadTable* Session::attach() noexcept {
  if (!open_file()) return nullptr;
  // While there is memory, each thread has rows of its own; later, threads go on in the tables of those that ended.
  if (ended_tables_ != nullptr && file_.blocks() > file_.most_blocks() / 4) {
    ThreadTable* table = ended_tables_;
    ended_tables_ = table->next_free;
    return table;
  }
  if (is_full()) return nullptr;
  ThreadTable* table = new_table();
  const auto thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  if (table != nullptr && table->begin(file_, tables_ + 1, thread, generation())) {
    ++tables_;
    return table;
  }
  full_ = true;
  note(file_.problem());
  return nullptr;
}

void Session::detach(ThreadTable* table) noexcept {
  if (table->generation() != generation()) return;
  table->next_free = ended_tables_;
  ended_tables_ = table;
  ++file_.header()->ended_threads;
}

layout::Row* Session::add_row(ThreadTable& table, const layout::RowKey& key) noexcept {
  if (is_full()) return nullptr;
  layout::Row* row = table.add(file_, key, balance(key));
  if (row == nullptr) {
    full_ = true;
    note(file_.problem());
  }
  return row;
}

bool Session::add_events(ThreadTable& table) noexcept {
  if (table.add_events(file_)) return true;
  events_full_ = true;
  if (problem_ == nullptr) {
    note(file_.problem() != nullptr ? file_.problem()
                                    : "the session's memory (TUTTI_PROF_MEMORY) for single events is used up; later "
                                      "ones are in the tables only");
  }
  return false;
}

void Session::count_dropped() noexcept {
  if (generation() == 0) {
    early_dropped_.fetch_add(1, std::memory_order_relaxed);
  } else {
    std::atomic_ref(file_.header()->dropped).fetch_add(1, std::memory_order_relaxed);
  }
}

void Session::publish_descriptions() noexcept {
  while (published_ < descriptions_.entry_bytes()) {
    const char* text = descriptions_.entries() + published_;
    const std::uint32_t bytes = reinterpret_cast<const Entry*>(text)->entry_bytes;
    if (description_block_ == nullptr || description_block_->used + bytes > layout::kPayloadBytes) {
      BlockHeader* block = file_.add_block(BlockType::descriptions, 0, 0);
      if (block == nullptr) return;
      description_block_ = block;
    }
    std::memcpy(reinterpret_cast<char*>(description_block_ + 1) + description_block_->used, text, bytes);
    std::atomic_ref(description_block_->used).store(description_block_->used + bytes, std::memory_order_release);
    published_ += bytes;
  }
}

// Number of the balance that memory of this key belongs to; 0: it is not about memory, or there is no room.
std::uint32_t Session::balance(const layout::RowKey& key) noexcept {
  const auto kind = static_cast<Kind>(key.kind);
  if (kind != Kind::allocation && kind != Kind::release) return 0;
  static_assert(layout::kBalancesPerBlock < 512);
  for (BlockHeader* block = balance_block_; block != nullptr;) {
    auto* balances = reinterpret_cast<Balance*>(block + 1);
    for (std::uint32_t at = 0; at < block->used; ++at) {
      const Balance& there = balances[at];
      if (there.source == key.source && there.name == key.name && there.device == key.device) {
        return file_.number_of(block) << 9 | at;
      }
    }
    block = block->reserved[0] == 0 ? nullptr : file_.block(static_cast<std::uint32_t>(block->reserved[0]));
  }
  if (balance_block_ == nullptr || balance_block_->used == layout::kBalancesPerBlock) {
    BlockHeader* block = file_.add_block(BlockType::balances, 0, 0);
    if (block == nullptr) return 0;
    if (balance_block_ != nullptr) block->reserved[0] = file_.number_of(balance_block_);
    balance_block_ = block;
  }
  const std::uint32_t at = balance_block_->used;
  auto& added = reinterpret_cast<Balance*>(balance_block_ + 1)[at];
  added.source = key.source;
  added.name = key.name;
  added.device = key.device;
  std::atomic_ref(balance_block_->used).store(at + 1, std::memory_order_release);
  return file_.number_of(balance_block_) << 9 | at;
}

void Session::measure_cost() noexcept {
  constexpr std::uint32_t kBlocks = 8;
  constexpr int kBatch = 64;
  constexpr int kBatches = 5;
  SessionFile scratch;
  ThreadTable* table = new_table();
  if (table == nullptr || !scratch.create_scratch(kBlocks)) return;
  Record event{.kind = Kind::operation, .name = 1, .bytes = 8};
  const layout::RowKey key{.kind = static_cast<std::uint8_t>(event.kind), .name = event.name};
  if (table->begin(scratch, 1, 0, 0) && table->add(scratch, key, 0) != nullptr && table->add_events(scratch)) {
    std::uint64_t shortest = UINT64_MAX;
    for (int batch = 0; batch < kBatches; ++batch) {
      const std::uint64_t begin = now_ns();
      for (int i = 0; i < kBatch; ++i) {
        event.begin_ns = now_ns();
        event.end_ns = now_ns();
        table->count(*table->find(scratch, key), event);
        static_cast<void>(table->append(event));
      }
      shortest = std::min(shortest, now_ns() - begin);
    }
    cost_ps_ = shortest * 1000 / kBatch;
  }
  scratch.remove_scratch();
}

bool Session::rank_is_wanted() const noexcept { return config_.rank < 0 || list_has_rank(config_.ranks, config_.rank); }

// Points is_recording() to the word that says it: the file's, once there is one.
void Session::apply() noexcept {
  const std::atomic<std::uint32_t>* word = &recording_off;
  if (config_.folder[0] != 0 && !failed_ && rank_is_wanted()) {
    if (generation() != 0) {
      word = &recording_of(*file_.header());
    } else if (!paused_) {
      word = &recording_on;
    }
  }
  if (generation() != 0) file_.header()->discarded = rank_is_wanted() ? 0 : 1;
  detail::recording.store(word, std::memory_order_release);
}

bool Session::start() noexcept {
  if (config_.folder[0] == 0 && !make_folder()) return false;
  paused_ = false;
  if (!rank_is_wanted()) return true;
  if (!open_file()) return false;
  recording_of(*file_.header()).store(1, std::memory_order_relaxed);
  apply();
  return true;
}

void Session::stop() noexcept {
  paused_ = true;
  // With a file, so that the process can be told to start again.
  if (config_.folder[0] != 0 && rank_is_wanted() && open_file())
    recording_of(*file_.header()).store(0, std::memory_order_relaxed);
  apply();
}

bool Session::make_folder() noexcept {
  std::snprintf(config_.folder, sizeof config_.folder, "%.*s/tutti-session-XXXXXX",
                static_cast<int>(sizeof config_.folder) - 32, config_.temporary);
  if (mkdtemp(config_.folder) != nullptr) return true;
  config_.folder[0] = 0;
  problem_ = "no folder for a session can be made in TMPDIR (or /tmp); set TMPDIR to a folder that can be written to";
  return false;
}

void Session::flush() noexcept {
  if (generation() == 0) return;
  file_.header()->resident_peak = resident_peak();
  file_.flush();
}

void Session::set_rank(int rank, int size) noexcept {
  if (rank_told_ || rank < 0) return;
  rank_told_ = true;
  config_.rank = rank;
  config_.size = size;
  if (generation() != 0) {
    file_.header()->rank = rank;
    file_.header()->size = size;
  }
  apply();
}

void Session::look_around() noexcept {
  // The record's time may come from a device, and be far off.
  const std::uint64_t now = now_ns();
  if (!should_look(now) || generation() == 0) return;
  looked_ = now;
  file_.header()->resident_peak = resident_peak();
}

void Session::end() noexcept {
  if (generation() == 0) return;
  Header& header = *file_.header();
  header.resident_peak = resident_peak();
  header.end_ns = now_ns();
  write_problem();
  std::atomic_ref(header.ended).store(1, std::memory_order_release);
}

void Session::write_problem() noexcept {
  std::snprintf(file_.header()->problem, sizeof layout::Header::problem, "%s", problem());
}

void Session::note(const char* problem) noexcept {
  problem_ = problem;
  if (generation() != 0) write_problem();
}

void Session::add_problem(const char* problem) noexcept {
  const char* none = nullptr;
  if (problem_.compare_exchange_strong(none, problem) && generation() != 0) write_problem();
}

const char* Session::problem() const noexcept {
  const char* problem = problem_;
  return problem == nullptr ? "" : problem;
}

}  // namespace tutti::profiling
