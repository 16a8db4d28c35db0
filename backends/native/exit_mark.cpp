#include "exit_mark.hpp"

#include <cstdlib>
#include <mutex>

namespace tutti::native {
namespace {

struct Marks {
  std::mutex mutex;
  ExitMark* first = nullptr;
};

Marks& marks() {
  static auto* instance = new Marks;  // never destroyed: the process may exit while static objects are destroyed
  return *instance;
}

}  // namespace

ExitMark::ExitMark(RankControl& control) : control_(control) {
  // Unlike std::atexit(), passes on the code.
  [[maybe_unused]] static const int registered = on_exit(&ExitMark::note, nullptr);
  const std::scoped_lock lock(marks().mutex);
  next_ = marks().first;
  if (next_ != nullptr) next_->previous_ = this;
  marks().first = this;
}

ExitMark::~ExitMark() {
  const std::scoped_lock lock(marks().mutex);
  (previous_ != nullptr ? previous_->next_ : marks().first) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void ExitMark::note(int code, void*) noexcept {
  // A thread that was forked away may have held the lock, and a thread that hangs may still do so.
  const std::unique_lock lock(marks().mutex, std::try_to_lock);
  if (!lock) return;
  for (ExitMark* mark = marks().first; mark != nullptr; mark = mark->next_) {
    if (!mark->process_.is_here()) continue;
    mark->control_.exit_code.store(code, std::memory_order_relaxed);
    mark->control_.state.store(RankState::exited, std::memory_order_release);
  }
}

}  // namespace tutti::native
