#include "creation/ccl_creation.hpp"

#include <chrono>
#include <string>

#include "ccl_worker.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

/// Interval at which the creating thread looks for the failure of another rank.
constexpr auto kGlance = std::chrono::milliseconds(20);

constexpr auto kAfterFailure = std::chrono::milliseconds(250);

constexpr const char* kPlace = "creating a communicator (ccl): ";

std::string created_key(const Rendezvous& rendezvous) { return "ccl.created." + std::to_string(rendezvous.rank()); }

/// Waits in the job's store for the end of the creation: the wait ends earlier with an error if a member is lost or
/// fails. Another thread than that of the creation, which may never come back.
std::shared_ptr<Worker::Task> watch(Worker& watching, const Rendezvous& rendezvous) {
  return watching.submit([rendezvous] { (void)rendezvous.get(created_key(rendezvous)); });
}

/// The error of the wait in watch().
Error failure_of(const Worker::Task& task) {
  try {
    task.get();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) return {error.code(), kPlace + std::string(error.what()), "ccl"};
  }
  return {ErrorCode::timeout,
          std::string(kPlace) +
              "oneCCL still waits for another rank after TUTTI_RENDEZVOUS_TIMEOUT, although all ranks have come; "
              "`tutti ps` shows where they are",
          "ccl"};
}

}  // namespace

std::shared_ptr<Channel> make_watched_channel(Runtime& runtime, const Rendezvous& rendezvous) {
  CreationLock& creation_lock = runtime.creation_lock(rendezvous);
  const Interface& interface = runtime.interface();
  if (rendezvous.size() == 1) return interface.make_channel(creation_lock, rendezvous, Workspace());
  const auto made = std::make_shared<std::shared_ptr<Channel>>();
  Worker creating;
  Worker watching;
  const auto end = watch(watching, rendezvous);
  const auto creation = creating.submit([made, &interface, &creation_lock, rendezvous] {
    *made = interface.make_channel(creation_lock, rendezvous, Workspace());
  });
  while (!creating.wait(*creation, Worker::Clock::now() + kGlance)) {
    // The error of the creating thread itself is better than that of the wait.
    if (!end->is_done() || creating.wait(*creation, Worker::Clock::now() + kAfterFailure)) continue;
    const Error failure = failure_of(*end);
    runtime.users().abandon(failure);
    Runtime::note_calls_left_behind();
    throw Error(failure);
  }
  if (!end->is_done()) rendezvous.put(created_key(rendezvous), {}, 1);
  creation->get();
  Runtime::cover_exit();
  return std::move(*made);
}

}  // namespace tutti::ccl
