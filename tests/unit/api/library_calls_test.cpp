// Calls that block in a library are interrupted by another thread.
#include "tutti/spi/library_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "fakes/blocking_library.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::spi {
namespace {

using Outcome = LibraryCalls::Outcome;
using Blocking = int (*)(const volatile bool*);
constexpr std::chrono::milliseconds kLong(60'000);

void raise_peer_failure(const void* owner, const Operation& operation) {
  throw Error(ErrorCode::peer_failure,
              *static_cast<const std::string*>(owner) + " in a call of " + std::to_string(operation.count));
}

/// A thread that blocks in the library.
class Blocked {
 public:
  explicit Blocked(Blocking call) {
    thread_ = start_thread("blocked", [this, call] {
      Operation operation;
      operation.count = 7;
      try {
        const std::string destroyed_by_unwinding(100, 'x');
        const LibraryCalls::Scope scope(calls, operation);
        is_inside_ = true;
        call(&released);
      } catch (const Error& error) {
        text = error.what();
        code = error.code();
      }
    });
    while (!is_inside_) std::this_thread::yield();
  }
  ~Blocked() {
    released = true;
    blocking_wake();
    thread_.join();
  }
  void join() {
    released = true;
    blocking_wake();
    thread_.join();
    thread_ = std::thread([] {});
  }

  const std::string owner = "rank 1 died";
  LibraryCalls calls{&raise_peer_failure, &owner};
  volatile bool released = false;
  std::string text;
  ErrorCode code = ErrorCode::ok;

 private:
  std::atomic<bool> is_inside_ = false;
  std::thread thread_;
};

class LibraryCallsTest : public testing::TestWithParam<std::pair<const char*, Blocking>> {};

TEST_P(LibraryCallsTest, AreInterrupted) {
  for (int round = 0; round < 20; ++round) {
    Blocked blocked(GetParam().second);
    ASSERT_EQ(blocked.calls.interrupt(kLong), Outcome::interrupted);
    blocked.join();
    EXPECT_EQ(blocked.text, "rank 1 died in a call of 7");
    EXPECT_EQ(blocked.code, ErrorCode::peer_failure);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LibraryCallsTest,
                         testing::Values(std::pair("spin", &blocking_spin), std::pair("yield", &blocking_yield),
                                         std::pair("sleep", &blocking_sleep), std::pair("read", &blocking_read),
                                         std::pair("condition", &blocking_condition),
                                         std::pair("registers", &blocking_with_registers),
                                         std::pair("noexcept", &blocking_noexcept)),
                         [](const auto& row) { return std::string(row.param.first); });

TEST(LibraryCalls, ThatEndByThemselvesAreNot) {
  Blocked blocked(&blocking_spin);
  blocked.join();
  EXPECT_EQ(blocked.calls.interrupt(kLong), Outcome::none);
  EXPECT_EQ(blocked.text, "");
}

// The library's other objects may still refer to what its frames would destroy.
TEST(LibraryCalls, LeaveTheFramesOfTheLibraryAsTheyAre) {
  Blocked blocked(&blocking_with_guard);
  while (guards_alive() == 0) std::this_thread::yield();
  ASSERT_EQ(blocked.calls.interrupt(kLong), Outcome::interrupted);
  blocked.join();
  EXPECT_EQ(blocked.code, ErrorCode::peer_failure);
  EXPECT_EQ(guards_alive(), 1);
}

// Values in registers that the library has saved on its stack and used for itself.
TEST(LibraryCalls, KeepTheCallersRegisters) {
  for (int round = 0; round < 20; ++round) {
    const std::string owner = "rank 1 died";
    LibraryCalls calls(&raise_peer_failure, &owner);
    volatile bool released = false;
    volatile long start = round;
    std::atomic<bool> is_inside = false;
    bool is_right = false;
    std::thread thread = start_thread("registers", [&] {
      const Operation operation;
      const long a = start, b = a * 3 + 1, c = b * 5 + 2, d = c * 7 + 3, e = d * 11 + 4, f = e * 13 + 5;
      try {
        const LibraryCalls::Scope scope(calls, operation);
        is_inside = true;
        blocking_with_registers(&released);
      } catch (const Error&) {
        is_right = a == start && b == a * 3 + 1 && c == b * 5 + 2 && d == c * 7 + 3 && e == d * 11 + 4 &&
                   f == e * 13 + 5 && f == (((((start * 3 + 1) * 5 + 2) * 7 + 3) * 11 + 4) * 13 + 5);
      }
    });
    while (!is_inside) std::this_thread::yield();
    EXPECT_EQ(calls.interrupt(kLong), Outcome::interrupted);
    thread.join();
    EXPECT_TRUE(is_right);
  }
}

// A thread in fgets() holds the lock of the file, one in dlopen() that of the dynamic loader.
class LockedCallsTest : public testing::TestWithParam<std::pair<const char*, Blocking>> {};

TEST_P(LockedCallsTest, AreNotInterrupted) {
  Blocked blocked(GetParam().second);
  while (!blocking_holds_lock()) std::this_thread::yield();
  EXPECT_EQ(blocked.calls.interrupt(std::chrono::milliseconds(300)), Outcome::stuck);
  blocked.join();
  EXPECT_EQ(blocked.text, "");
}

INSTANTIATE_TEST_SUITE_P(All, LockedCallsTest,
                         testing::Values(std::pair("fgets", &blocking_fgets), std::pair("open", &blocking_open)),
                         [](const auto& row) { return std::string(row.param.first); });

TEST(LibraryCalls, OfOtherThreadsGoOn) {
  Blocked one(&blocking_spin);
  Blocked other(&blocking_spin);
  ASSERT_EQ(one.calls.interrupt(kLong), Outcome::interrupted);
  one.join();
  EXPECT_EQ(one.code, ErrorCode::peer_failure);
  other.join();
  EXPECT_EQ(other.text, "");
}

TEST(LibraryCalls, BesideEachOtherAreAllInterrupted) {
  const std::string owner = "rank 1 died";
  LibraryCalls calls(&raise_peer_failure, &owner);
  volatile bool released = false;
  std::atomic<int> inside = 0;
  std::atomic<int> failed = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.push_back(start_thread("beside", [&] {
      const Operation operation;
      try {
        const LibraryCalls::ScopeBeside scope(calls, operation);
        ++inside;
        blocking_spin(&released);
      } catch (const Error&) {
        ++failed;
      }
    }));
  }
  while (inside < 3) std::this_thread::yield();
  EXPECT_EQ(calls.interrupt(kLong), Outcome::interrupted);
  released = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 3);
}

TEST(LibraryCalls, AreNotInterruptedWhereTheApplicationUsesTheSignal) {
  struct sigaction mine {};
  struct sigaction before {};
  mine.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(LibraryCalls::signal_number(), &mine, &before), 0);
  {
    Blocked blocked(&blocking_spin);
    EXPECT_EQ(blocked.calls.interrupt(kLong), Outcome::stuck);
    blocked.join();
    EXPECT_EQ(blocked.text, "");
  }
  ASSERT_EQ(sigaction(LibraryCalls::signal_number(), &before, nullptr), 0);
}

}  // namespace
}  // namespace tutti::spi
