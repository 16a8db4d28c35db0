#include "issue/issued_call.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <semaphore>
#include <vector>

#include "base/interpose/real_function.hpp"
#include "base/mpi/pmpi.hpp"
#include "progress.hpp"
#include "raise.hpp"
#include "tutti/error.hpp"

namespace tutti::adapters::mpi {
namespace {

using interpose::RealFunction;
using mpi_table::Binding;
using mpi_table::Pmpi;

constinit Pmpi grequest_start{"PMPI_Grequest_start"};
constinit Pmpi grequest_complete{"PMPI_Grequest_complete"};
constinit Pmpi status_set_cancelled{"PMPI_Status_set_cancelled"};
constinit Pmpi status_set_elements{"PMPI_Status_set_elements"};

/// Result of a call, which its request has until it is freed.
struct Completion {
  /// By the thread that carries out the call, as its last step with this object.
  void end() noexcept { done.release(); }
  void complete() const noexcept { (void)grequest_complete(request); }

  std::binary_semaphore done{0};    ///< taken by the thread of the program that completes the request
  std::array<char, 200> failure{};  ///< empty: none
  Word request = 0;
};

// Callbacks of MPI.
int query(void* state, void* status) {
  (void)status_set_elements(status, byte_type(), 0);
  (void)status_set_cancelled(status, 0);
  const auto& completion = *static_cast<Completion*>(state);
  return completion.failure[0] == '\0' ? 0 : error_code(completion.failure.data());
}
int release(void* state) {
  delete static_cast<Completion*>(state);
  return 0;
}
int refuse_cancel(void*, int) { return 0; }
int poll(void* state, void*) {
  auto& completion = *static_cast<Completion*>(state);
  if (completion.done.try_acquire()) completion.complete();
  return 0;
}
int wait_for_all(int count, void** states, double, void*) {
  // The core is left to the thread that carries out the call.
  constexpr std::chrono::microseconds kSlice{50};
  for (int i = 0; i < count; ++i) {
    auto& completion = *static_cast<Completion*>(states[i]);
    while (!completion.done.try_acquire_for(kSlice)) drive_mpi();
    completion.complete();
  }
  return 0;
}

/// Requests of MPICH and Intel MPI that ask for the end themselves. There a thread that waits in MPI leaves its lock
/// for moments only, and another that wants to complete a request may wait for it through many slices of time.
using StartAsking = int (*)(int (*)(void*, void*), int (*)(void*), int (*)(void*, int), int (*)(void*, void*),
                            int (*)(int, void**, double, void*), void*, Word*);
RealFunction<StartAsking> start_asking{"PMPIX_Grequest_start"};

/// Makes the request. `may_ask`: the thread of the call does not call MPI, so that MPI may hold its lock while it asks.
/// Returns whether it asks; if not, the thread of the call completes it.
bool start_request(Completion& completion, bool may_ask, Word& made) {
  const StartAsking asking = may_ask ? start_asking.get() : nullptr;
  const bool is_started = asking != nullptr
                              ? asking(&query, &release, &refuse_cancel, &poll, &wait_for_all, &completion, &made) == 0
                              : grequest_start(&query, &release, &refuse_cancel, &completion, &made);
  if (!is_started) throw Error(ErrorCode::system, "MPI_Grequest_start failed", "mpi");
  completion.request = mpi_table::handle_at(reinterpret_cast<Word>(&made));
  return asking != nullptr;
}

/// A call that outlives the function of the program: with arguments, arrays of counts and derived types of its own. MPI
/// forbids programs to change the arrays before the end, but its libraries copy them, so that programs do, as mpi4py
/// does.
class IssuedCall {
 public:
  IssuedCall(Row row, Binding binding, const Word* words, const Group& group)
      : words_(copy(row, words)), call_(row, Arguments(binding, words_.data()), group) {
    if (call_.read() != ServedCall::Judgement::suitable || !call_.keep_types())
      throw Error(ErrorCode::system, "MPI did not duplicate a derived type", "mpi");
    const std::size_t element = binding == Binding::large ? sizeof(std::int64_t) : sizeof(int);
    const std::size_t bytes = static_cast<std::size_t>(group.size()) * element;
    for (const int at : call_.arrays()) {
      arrays_.push_back(make_scratch(bytes));
      Word& word = words_[static_cast<std::size_t>(at)];
      std::memcpy(arrays_.back().get(), reinterpret_cast<const void*>(word), bytes);
      word = reinterpret_cast<Word>(arrays_.back().get());
    }
  }
  IssuedCall(const IssuedCall&) = delete;
  IssuedCall& operator=(const IssuedCall&) = delete;
  ~IssuedCall() { call_.drop_types(); }

  [[nodiscard]] bool has_derived_types() const noexcept { return call_.has_derived_types(); }
  void run(const Communicator& communicator) const { call_.run(communicator); }

 private:
  using Words = std::array<Word, 16>;
  static Words copy(Row row, const Word* words) {
    Words copied{};
    std::copy_n(words, mpi_table::function(row).arguments, copied.begin());
    return copied;
  }

  Words words_;  ///< read by the call
  ServedCall call_;
  std::vector<Scratch> arrays_;
};

}  // namespace

void issue(Row row, Binding binding, const Word* words, Group& group) {
  const auto call = std::make_shared<IssuedCall>(row, binding, words, group);
  auto state = std::make_unique<Completion>();
  Word made = 0;
  const bool asks = start_request(*state, !call->has_derived_types(), made);
  Completion* const completion = state.release();  // MPI calls release()
  group.issues().add([call, completion, asks, &group] {
    try {
      call->run(group.communicator());
    } catch (const std::exception& failure) {
      std::snprintf(completion->failure.data(), completion->failure.size(), "%s", failure.what());
    }
    if (asks) {
      completion->end();
    } else {
      completion->complete();
    }
  });
  const std::size_t bytes = mpi_table::abi().wide_handles ? sizeof(Word) : sizeof(std::uint32_t);
  std::memcpy(reinterpret_cast<void*>(words[mpi_table::function(row).at.request]), &made, bytes);
}

}  // namespace tutti::adapters::mpi
