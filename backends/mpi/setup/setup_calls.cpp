#include "setup/setup_calls.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "mpi_runtime.hpp"

namespace tutti::mpi {

SetupCalls::SetupCalls(std::string where) : LibraryUser(&SetupCalls::raise, this), where_(std::move(where)) {
  Runtime::users().add(*this);
}

SetupCalls::~SetupCalls() { Runtime::users().remove(*this); }

void SetupCalls::give_up(const Error& cause) noexcept {
  (void)failure_.keep(cause);
  Runtime::skip_finalize();
}

void SetupCalls::end(const Error& cause, const std::atomic<bool>& is_over) noexcept {
  while (!is_over.load()) {
    (void)Runtime::users().interrupt(*this, cause);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void SetupCalls::raise(const void* calls, const Operation&) {
  const auto& self = *static_cast<const SetupCalls*>(calls);
  self.failure_.rethrow(self.where_);
}

}  // namespace tutti::mpi
