#include "watch/progress_board.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <new>

#include "tutti/spi/tensors/stall.hpp"

namespace tutti::spi {

void CallProgress::note_thread() noexcept {
  thread.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
}

}  // namespace tutti::spi

namespace tutti::detail {
namespace {

// Newer than the headers of some systems.
constexpr unsigned kNoExecSeal = 0x8;  // MFD_NOEXEC_SEAL

int make_memfd() noexcept {
  const int descriptor = memfd_create(kBoardName, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal);
  if (descriptor >= 0 || errno != EINVAL) return descriptor;
  return memfd_create(kBoardName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

/// Takes memory for a slot, and says so if there is none: a store would end the process. Through the mapping, since the
/// application may have closed all descriptors, and ours may be a file of its own by now.
bool has_memory(ProgressSlot& slot) noexcept {
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, newer than the headers of some systems
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(&slot) & ~(page - 1);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(&slot + 1);
  // A kernel that does not know it gives memory on the first store, as it nearly always can.
  return madvise(reinterpret_cast<void*>(begin), end - begin, kPopulateWrite) == 0 || errno == EINVAL;
}

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  // Without a source of random numbers time and process suffice: it is no secret.
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  return static_cast<std::uint64_t>(monotonic_ns()) << 20 ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace

/// The board of a process and its token. Never destroyed, since a static communicator may outlive other statics.
struct ProgressBoard::Process {
  spi::HomeProcess home;
  std::uint64_t token = random_number();
  ProgressBoard board{token};
};

/// That of this process. A child starts anew: the copy that it has of its parent's board is the parent's. Without a
/// lock, which a child could inherit from a thread that it does not have.
ProgressBoard::Process* ProgressBoard::this_process() noexcept {
  static constinit std::atomic<Process*> process = nullptr;
  Process* known = process.load(std::memory_order_acquire);
  while (known == nullptr || !known->home.is_here()) {
    auto* made = new (std::nothrow) Process;
    if (made == nullptr) return nullptr;
    if (process.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return made;
    delete made;
  }
  return known;
}

std::int64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ProgressBoard* ProgressBoard::instance() noexcept {
  Process* const here = this_process();
  return here == nullptr || here->board.header_ == nullptr ? nullptr : &here->board;
}

std::uint64_t ProgressBoard::process_token() noexcept {
  const Process* const here = this_process();
  return here == nullptr ? 0 : here->token;
}

ProgressBoard::ProgressBoard(std::uint64_t token) noexcept {
  descriptor_ = make_memfd();
  if (descriptor_ < 0) return;
  // Sealed, so that readers need not fear that the memory shrinks under them.
  if (ftruncate(descriptor_, kBoardBytes) != 0 ||
      fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      fallocate(descriptor_, 0, 0, sizeof(BoardHeader)) != 0) {
    return;
  }
  void* const memory = mmap(nullptr, kBoardBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) return;
  // Objects without a constructor call: zero bytes are their state, and writing them would take memory for all slots.
  slots_ = reinterpret_cast<ProgressSlot*>(static_cast<std::byte*>(memory) + sizeof(BoardHeader));
  header_ = new (memory) BoardHeader;
  header_->pid = getpid();
  header_->token = token;
}

ProgressBoard::~ProgressBoard() {
  if (header_ != nullptr) munmap(header_, kBoardBytes);
  if (descriptor_ >= 0) close(descriptor_);
}

ProgressSlot* ProgressBoard::take() noexcept {
  const std::scoped_lock lock(mutex_);
  for (std::size_t tried = 0; tried < kBoardSlots; ++tried) {
    const std::size_t index = (next_ + tried) % kBoardSlots;
    ProgressSlot& slot = slots_[index];
    const auto state = static_cast<SlotState>(slot.state.load(std::memory_order_relaxed));
    if (state != SlotState::free && state != SlotState::destroyed) continue;
    if (!has_memory(slot)) return nullptr;
    next_ = index + 1;
    slot.reset();
    return &slot;
  }
  return nullptr;
}

void ProgressBoard::give_back(ProgressSlot& slot) noexcept {
  const std::scoped_lock lock(mutex_);
  slot.state.store(static_cast<std::uint32_t>(SlotState::destroyed), std::memory_order_release);
}

ProgressSlot* ProgressBoard::slot_of(const spi::CallProgress* call) const noexcept {
  static_assert(offsetof(ProgressSlot, call) == 0);
  const auto at = reinterpret_cast<std::uintptr_t>(call);
  const auto begin = reinterpret_cast<std::uintptr_t>(slots_);
  return at >= begin && at < begin + kBoardSlots * sizeof(ProgressSlot) ? slots_ + (at - begin) / sizeof(ProgressSlot)
                                                                        : nullptr;
}

void ProgressSlot::set_stall(std::string_view text, int by) noexcept {
  // A reader that sees any of the values after the first count sees that count, too, and knows that they are not whole.
  stall_writes.fetch_add(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  stalled_by.store(by, std::memory_order_relaxed);
  stall.assign(text);
  stall_writes.fetch_add(1, std::memory_order_release);
}

void ProgressSlot::reset() noexcept {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  // First of all, so that a reader who knows the last use does not take the new values for it.
  generation.fetch_add(1, std::memory_order_seq_cst);
  state.store(static_cast<std::uint32_t>(SlotState::free), std::memory_order_seq_cst);
  for (auto* number : {&call.sequence, &call.left, &call.ticks, &call.what, &call.count, &call.waits, &call.waited}) {
    number->store(0, kRelaxed);
  }
  for (std::atomic<std::uint64_t>& mark : marks) mark.store(0, kRelaxed);
  // Nothing happens in it since now.
  call.since_ns.store(monotonic_ns(), kRelaxed);
  call.since_activity.store(0, kRelaxed);
  call.pending.store(0, kRelaxed);
  call.thread.store(static_cast<std::uint32_t>(syscall(SYS_gettid)), kRelaxed);
  is_failing.store(0, kRelaxed);
  failure_code.store(0, kRelaxed);
  rank.store(-1, kRelaxed);
  size.store(0, kRelaxed);
  job_rank.store(-1, kRelaxed);
  ranks_here.store(0, kRelaxed);
  communicator.store(0, kRelaxed);
  job.assign({});
  name.assign({});
  backend.assign({});
  device.assign({});
  failure.assign({});
  stalled_by.store(-1, kRelaxed);
  stall.assign({});
}

ProgressEntry::ProgressEntry(int rank, int size, std::string_view name) noexcept {
  ProgressBoard* const board = ProgressBoard::instance();
  if (board == nullptr) return;
  slot_ = board->take();
  if (slot_ == nullptr) {
    is_counted_ = true;
    board->header().communicators_without.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  slot_->rank.store(rank, std::memory_order_relaxed);
  slot_->size.store(size, std::memory_order_relaxed);
  slot_->name.assign(name);
  slot_->state.store(static_cast<std::uint32_t>(SlotState::creating), std::memory_order_release);
}

ProgressEntry::~ProgressEntry() {
  if (!home_.is_here()) return;
  ProgressBoard* const board = slot_ != nullptr || is_counted_ ? ProgressBoard::instance() : nullptr;
  if (board == nullptr) return;
  if (slot_ != nullptr) board->give_back(*slot_);
  if (is_counted_) board->header().communicators_without.fetch_sub(1, std::memory_order_relaxed);
}

std::string ProgressEntry::card(std::uint64_t number) const {
  const std::string words = std::to_string(ProgressBoard::process_token()) + " " + std::to_string(number);
  ProgressBoard* const board = ProgressBoard::instance();
  if (slot_ == nullptr || board == nullptr) return words;
  return words + " " + std::to_string(board->descriptor()) + " " + std::to_string(board->index_of(*slot_)) + " " +
         std::to_string(slot_->generation.load(std::memory_order_relaxed));
}

void ProgressEntry::set_identity(std::string_view job, std::uint64_t communicator, int job_rank,
                                 int ranks_here) noexcept {
  if (slot_ == nullptr) return;
  slot_->ranks_here.store(ranks_here, std::memory_order_relaxed);
  slot_->job.assign(job);
  slot_->job_rank.store(job_rank, std::memory_order_relaxed);
  // Last, with release: a reader that sees the number sees the text.
  slot_->communicator.store(communicator, std::memory_order_release);
}

void ProgressEntry::set_device(std::string_view device) noexcept {
  if (slot_ != nullptr) slot_->device.assign(device);
}

void ProgressEntry::activate(std::string_view backend) noexcept {
  if (slot_ == nullptr) return;
  slot_->backend.assign(backend);
  slot_->state.store(static_cast<std::uint32_t>(SlotState::active), std::memory_order_release);
}

void ProgressEntry::leave(SlotState how) noexcept {
  if (slot_ == nullptr || !home_.is_here()) return;
  auto active = static_cast<std::uint32_t>(SlotState::active);
  (void)slot_->state.compare_exchange_strong(active, static_cast<std::uint32_t>(how), std::memory_order_acq_rel);
}

void ProgressEntry::leave_because(std::string_view text) noexcept {
  if (slot_ == nullptr || !home_.is_here() || slot_->is_failing.exchange(1, std::memory_order_acq_rel) != 0) return;
  slot_->failure.assign(text);
}

void ProgressEntry::fail(ErrorCode code, std::string_view text) noexcept {
  if (slot_ == nullptr || !home_.is_here()) return;
  if (slot_->is_failing.exchange(1, std::memory_order_acq_rel) != 0) return;
  slot_->failure_code.store(static_cast<std::int32_t>(code), std::memory_order_relaxed);
  slot_->failure.assign(text);
  slot_->state.store(static_cast<std::uint32_t>(SlotState::failed), std::memory_order_release);
}

}  // namespace tutti::detail

void tutti::spi::show_stall(const CallProgress* progress, std::string_view text, int rank) noexcept {
  using namespace tutti::detail;
  const ProgressBoard* const board = progress == nullptr ? nullptr : ProgressBoard::instance();
  ProgressSlot* const slot = board == nullptr ? nullptr : board->slot_of(progress);
  if (slot != nullptr) slot->set_stall(text, text.empty() ? -1 : rank);
}
