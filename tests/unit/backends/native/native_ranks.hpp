#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "native_backend.hpp"
#include "settings/settings.hpp"
#include "tutti/config.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/module.hpp"

/// Runs the native engine without a communicator, through the interface that a communicator calls.
namespace tutti::test {

/// A rank, passed to the body of a test.
struct NativeRank {
  spi::BackendCommunicator& communicator;
  int rank;
  int size;
  std::uint64_t sequence = 0;

  /// Numbers the operation as a communicator would.
  Operation& numbered(Operation& operation) {
    operation.sequence = ++sequence;
    return operation;
  }
  void run(Operation operation) { communicator.run(numbered(operation)); }
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(Operation operation) {
    return communicator.start(numbered(operation));
  }
};

using NativeBody = std::function<void(NativeRank&)>;

/// Ends the program if a test hangs: no test takes this long.
inline void limit_test_time() { alarm(300); }

inline Config native_config() {
  register_settings(tutti_backend_native_module()->settings);
  return {};
}

inline spi::Peers native_peers(int rank, int size, bool same_process, std::vector<std::int64_t> pids = {}) {
  spi::Peers peers;
  peers.rank = rank;
  peers.size = size;
  peers.hosts.assign(static_cast<std::size_t>(size), "here");
  peers.pids = pids.empty() ? std::vector<std::int64_t>(static_cast<std::size_t>(size), getpid()) : std::move(pids);
  peers.same_host = true;
  peers.same_process = same_process;
  return peers;
}

/// Runs the body on a rank and returns the text of its exception, if any. An exception aborts the communicator, so that
/// the other ranks end too.
inline std::string run_native_rank(const Rendezvous& rendezvous, const spi::Peers& peers, const Config& config,
                                   const NativeBody& body) {
  std::unique_ptr<spi::BackendCommunicator> communicator;
  try {
    const spi::CreateContext context{.config = config, .rendezvous = rendezvous, .peers = peers};
    communicator = tutti_backend_native_module()->create(context);
    NativeRank rank{*communicator, peers.rank, peers.size};
    body(rank);
  } catch (const std::exception& error) {
    if (communicator) communicator->abort();
    return error.what();
  }
  return {};
}

/// Runs the body on ranks that are threads; returns the text of each rank's exception, empty if it threw none.
inline std::vector<std::string> run_native(int size, const NativeBody& body, const Config& config = native_config()) {
  limit_test_time();
  const std::vector<Rendezvous> rendezvous = local_rendezvous(size);
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r) {
    threads.emplace_back([&, r] {
      const auto index = static_cast<std::size_t>(r);
      errors[index] = run_native_rank(rendezvous[index], native_peers(r, size, true), config, body);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

/// The error that a call throws; ErrorCode::ok if it throws none.
inline Error error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::ok, "nothing was thrown");
}

/// Throws unless the condition holds, which fails the rank and the test.
inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error("requirement failed: " + what);
}

template <typename T>
Operation native_operation(OpKind kind, const T* input, T* output, std::uint64_t count, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.type = kDataTypeOf<T>;
  operation.count = count;
  operation.root = root;
  operation.input = input;
  operation.output = output;
  return operation;
}

}  // namespace tutti::test

/// Expects that no rank threw.
#define EXPECT_NO_RANK_ERRORS(...)                                                   \
  do {                                                                               \
    const std::vector<std::string> rank_errors = (__VA_ARGS__);                      \
    for (std::size_t r = 0; r < rank_errors.size(); ++r) {                           \
      EXPECT_EQ("", rank_errors[r]) << "rank " << r << " of " << rank_errors.size(); \
    }                                                                                \
  } while (false)
