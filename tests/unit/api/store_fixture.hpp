#pragma once

// Fixture of the socket store's tests: starts processes as clients and checks for leaks after each test.

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "support/refusals.hpp"
#include "tutti/error.hpp"

namespace tutti {

inline constexpr const char* kSecret = "correct horse battery staple";
inline constexpr unsigned kDeadlineSeconds = 90;

inline std::size_t entries_of(const char* path) {
  DIR* directory = ::opendir(path);
  std::size_t count = 0;
  while (directory != nullptr && ::readdir(directory) != nullptr) ++count;
  if (directory != nullptr) ::closedir(directory);
  return count;
}

/// Runs the body in a new process; its exit code is the return value of the body, or 99 if the body throws.
inline pid_t start_process(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(kDeadlineSeconds / 2);
  int code = 99;
  try {
    code = body();
  } catch (...) {
  }
  ::_exit(code);
}

inline int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class StoreFixture : public testing::Test {
 protected:
  // If a test hangs, the alarm ends the process. TearDown() checks that no file descriptor and no thread leaks.
  void SetUp() override {
    ::alarm(kDeadlineSeconds);
    start_and_end_a_thread();
    files_ = entries_of("/proc/self/fd");
    threads_ = entries_of("/proc/self/task");
  }
  void TearDown() override {
    EXPECT_EQ(entries_of("/proc/self/fd"), files_);
    // The kernel removes a thread from /proc/self/task shortly after join().
    for (int i = 0; i < 1000 && entries_of("/proc/self/task") > threads_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(entries_of("/proc/self/task"), threads_);
    ::alarm(0);
  }

  static std::string unix_address() { return "unix:tutti-test-" + std::to_string(::getpid()); }
  static std::string address(const std::string& kind) { return kind == "unix" ? unix_address() : kind + ":0"; }

 private:
  // The thread sanitizer starts its own thread together with the first thread of the process; starting a thread here
  // includes it in the count before the test. The kernel removes the ended thread shortly after join().
  static void start_and_end_a_thread() {
    pid_t id = 0;
    std::thread([&id] { id = ::gettid(); }).join();
    const std::string entry = "/proc/self/task/" + std::to_string(id);
    while (::access(entry.c_str(), F_OK) == 0) std::this_thread::yield();
  }

  std::size_t files_ = 0;
  std::size_t threads_ = 0;
};

}  // namespace tutti
