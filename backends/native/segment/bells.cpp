#include "segment/bells.hpp"

#include "native_api.hpp"

namespace tutti::native {
namespace {

void ring(RankControl& control) noexcept {
  control.doorbell.fetch_add(1, std::memory_order_seq_cst);
  api::futex_wake(control.doorbell);
}

inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace

Bells::Bells(const Layout& layout, int rank) noexcept
    : layout_(layout), sleepers_(&layout.header().sleepers), rank_(rank) {}

void Bells::wake(int target) const noexcept {
  if (target == rank_) return;
  RankControl& control = layout_.control(target);
  const std::int32_t peer = control.asleep.load(std::memory_order_seq_cst);
  if (peer != kAnyone && peer != rank_) return;
  // One of several publishers does the waking.
  if (control.asleep.exchange(kAwake, std::memory_order_seq_cst) != kAwake) ring(control);
}

void Bells::wake_all() const noexcept {
  const auto ranks = static_cast<int>(layout_.geometry().ranks);
  for (int r = 0; r < ranks; ++r) wake(r);
}

void Bells::alarm() const noexcept {
  const auto ranks = static_cast<int>(layout_.geometry().ranks);
  for (int r = 0; r < ranks; ++r) ring(layout_.control(r));
}

Bells::Nap::Nap(const Bells& bells, std::int32_t peer) noexcept : bells_(bells) {
  RankControl& control = bells.layout_.control(bells.rank_);
  rings_ = control.doorbell.load(std::memory_order_seq_cst);
  control.asleep.store(peer, std::memory_order_seq_cst);
  bells.sleepers_->fetch_add(1, std::memory_order_seq_cst);
}

Bells::Nap::~Nap() {
  bells_.sleepers_->fetch_sub(1, std::memory_order_seq_cst);
  bells_.layout_.control(bells_.rank_).asleep.store(kAwake, std::memory_order_seq_cst);
}

void Bells::Nap::sleep(std::chrono::nanoseconds at_most) const noexcept {
  api::futex_wait(bells_.layout_.control(bells_.rank_).doorbell, rings_, at_most);
}

bool Patience::wait() noexcept {
  const int last = spins_ + yields_;
  round_ = std::min(round_ + 1, last + 2);  // beyond spins_ + 1, so that has_just_lost() is true only once
  if (round_ > last) return false;
  if (round_ <= spins_)
    relax();
  else
    api::yield();
  return true;
}

}  // namespace tutti::native
