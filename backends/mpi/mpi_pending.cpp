#include "mpi_pending.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "mpi_backend.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::mpi {
namespace {

// A wait with a deadline polls kSpins times before it sleeps: small messages arrive within that time. Sleeps are short,
// so they hardly delay operations that take longer.
constexpr int kSpins = 2000;
constexpr auto kFirstNap = std::chrono::microseconds(20);
constexpr auto kLongestNap = std::chrono::microseconds(500);

}  // namespace

Storage::~Storage() {
  if (result_) spi::report_free("mpi", result_.get(), result_capacity_);
}

void* Storage::result_for(void* destination, std::uint64_t bytes) {
  if (bytes > result_capacity_) {
    if (result_) spi::report_free("mpi", result_.get(), result_capacity_);
    result_.reset();
    result_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    result_capacity_ = bytes;
    spi::report_allocation("mpi", result_.get(), bytes);
  }
  destination_ = destination;
  destination_bytes_ = bytes;
  return result_.get();
}

void Storage::finish() {
  if (destination_ != nullptr) spi::copy(destination_, result_.get(), destination_bytes_, false);
  destination_ = nullptr;
  if (split) split->finish();
  split.reset();
}

Pending::Pending(Communicator& communicator, const Operation& operation)
    : communicator_(communicator), operation_(operation) {
  if (operation.timeout.count() != 0) deadline_ = std::chrono::steady_clock::now() + operation.timeout;
}

Pending::~Pending() {
  if (done_ == count_) return;
  for (std::unique_ptr<Storage>& storage : storage_) (void)storage.release();
  communicator_.give_up(Error(
      ErrorCode::backend_failure,
      "the communicator is no longer usable: " + describe(operation_) + " was abandoned before MPI had completed it",
      "mpi"));
}

MPI_Request* Pending::add_request(const Operation& part) {
  if (part.kind == OpKind::recv) {
    if (count_ == 0) {
      first_receive_ = part;
    } else {
      more_receives_.push_back({count_, part});
    }
  }
  ++count_;
  if (count_ == 1) return &first_;
  if (requests_.empty()) requests_.push_back(first_);
  return &requests_.emplace_back();
}

void Pending::remove_request() noexcept {
  if (--count_ > 0) requests_.pop_back();
  if (count_ == 0) first_receive_.reset();
  if (!more_receives_.empty() && more_receives_.back().index == count_) more_receives_.pop_back();
}

Storage& Pending::add_storage() { return *storage_.emplace_back(std::make_unique<Storage>()); }

std::span<MPI_Request> Pending::active() noexcept {
  return requests_.empty() ? std::span(&first_, count_) : std::span(requests_);
}

void Pending::check_length(std::size_t index, const MPI_Status& status) {
  const Operation* receive = index == 0 && first_receive_ ? &*first_receive_ : nullptr;
  if (index > 0) {
    const auto found = std::ranges::find(more_receives_, index, &Receive::index);
    if (found != more_receives_.end()) receive = &found->operation;
  }
  if (receive == nullptr || wrong_length_) return;
  try {
    communicator_.check_length(*receive, status);
  } catch (const Error& error) {
    wrong_length_.emplace(error);
  }
}

bool Pending::test_all() {
  const Api& api = communicator_.api();
  while (done_ < count_) {
    communicator_.check_alive(operation_);
    int flag = 0;
    MPI_Status status;
    const int code = api.test(&active()[done_], &flag, &status);
    if (code == MPI_SUCCESS && flag == 0) return false;
    ++done_;  // a request that failed is complete, too
    if (code != MPI_SUCCESS) communicator_.fail(operation_, code);
    check_length(done_ - 1, status);
  }
  complete();
  return true;
}

bool Pending::do_poll() {
  const Entry entry(communicator_.gate());
  if (test_all()) return true;
  if (deadline_ != spi::Deadline::max() && std::chrono::steady_clock::now() >= deadline_) {
    communicator_.fail_late(operation_);
  }
  return false;
}

bool Pending::do_wait(spi::Deadline until) {
  const Entry entry(communicator_.gate());
  if (until == spi::Deadline::max() && deadline_ == spi::Deadline::max()) {
    wait_for_all();
    return true;
  }
  const spi::Deadline end = std::min(until, deadline_);
  std::chrono::nanoseconds nap = kFirstNap;
  for (int spins = 0; !do_poll(); ++spins) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= until) return false;
    if (spins < kSpins) continue;
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(nap, end - now));
    nap = std::min<std::chrono::nanoseconds>(nap * 2, kLongestNap);
  }
  return true;
}

void Pending::wait_for_all() {
  const Api& api = communicator_.api();
  communicator_.check_alive(operation_);
  const spi::LibraryCalls::ScopeBeside scope(communicator_.calls(), operation_);
  const std::size_t remaining = count_ - done_;
  if (remaining == 1) {
    MPI_Status status;
    const int code = api.wait(&active()[done_], &status);
    ++done_;
    if (code != MPI_SUCCESS) communicator_.fail(operation_, code);
    check_length(done_ - 1, status);
  } else if (remaining > 1) {
    std::vector<MPI_Status> statuses(remaining);
    int code = api.waitall(static_cast<int>(remaining), active().data() + done_, statuses.data());
    for (const MPI_Status& status : statuses) {
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS && status.MPI_ERROR != MPI_ERR_PENDING) {
        code = status.MPI_ERROR;
      }
    }
    if (code != MPI_SUCCESS) communicator_.fail(operation_, code);
    for (std::size_t i = 0; i < remaining; ++i) check_length(done_ + i, statuses[i]);
  }
  done_ = count_;
  complete();
}

void Pending::complete() {
  for (const std::unique_ptr<Storage>& storage : storage_) storage->finish();
  storage_.clear();
  if (wrong_length_) throw Error(*wrong_length_);
}

}  // namespace tutti::mpi
