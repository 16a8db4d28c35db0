// Driver of a fuzz target: gives it mutated inputs and reports the first that crashes, takes too long or breaks an
// invariant.
//
// usage: TARGET [--runs N] [--seed S]     N inputs (default 20000) from the seed S (default 1)
//        TARGET --input FILE              one input, to repeat a finding
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "fuzz.hpp"
#include "mutator.hpp"

// Defined by the sanitizers only.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());  // NOLINT

namespace {

using namespace tutti::fuzz;

/// Processor time for one input, not elapsed time: a machine that stands still does not fail the test.
constexpr int kLimitSeconds = 20;

std::atomic<const std::string*> current = nullptr;  // NOLINT
std::atomic<unsigned long> number = 0;              // NOLINT

/// Writes the current input as a C string. Async-signal-safe.
void show_input() {
  const std::string* input = current.exchange(nullptr);
  if (input == nullptr) return;
  std::array<char, 4096> out{};
  std::size_t used = 0;
  const auto put = [&](char c) {
    out[used++] = c;
    if (used == out.size()) {
      (void)!write(STDERR_FILENO, out.data(), used);
      used = 0;
    }
  };
  for (const char c : std::string_view("\ninput: \"")) put(c);
  for (const char c : *input) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      put(c);
    } else {
      put('\\');
      for (const int shift : {6, 3, 0}) put(static_cast<char>('0' + (byte >> shift & 7)));
    }
  }
  for (const char c : std::string_view("\"\n")) put(c);
  (void)!write(STDERR_FILENO, out.data(), used);
}

void on_crash(int signal) {
  show_input();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Called for each second of processor time.
void on_second(int /*signal*/) {
  static unsigned long seen = 0;
  static int seconds = 0;
  const unsigned long now = number.load();
  seconds = now == seen ? seconds + 1 : 0;
  seen = now;
  if (seconds < kLimitSeconds) return;
  constexpr std::string_view text = "an input takes too long\n";
  (void)!write(STDERR_FILENO, text.data(), text.size());
  show_input();
  _exit(1);
}

void watch() {
  // The sanitizers have handlers of their own, which print more.
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(show_input);
  } else {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(signal, on_crash);
  }
  std::signal(SIGPROF, on_second);
  const itimerval second{.it_interval = {1, 0}, .it_value = {1, 0}};
  setitimer(ITIMER_PROF, &second, nullptr);
}

bool holds(const std::string& input) {
  current = &input;
  ++number;
  try {
    try_input(input);
    current = nullptr;
    return true;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  } catch (...) {
    std::fprintf(stderr, "an exception of an unknown type\n");
  }
  show_input();
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long runs = 20000;
  unsigned long seed = 1;
  const char* file = nullptr;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc || (option != "--runs" && option != "--seed" && option != "--input")) {
      std::fprintf(stderr, "usage: %s [--runs N] [--seed S] | --input FILE\n", argv[0]);
      return 2;
    }
    if (option == "--runs") runs = std::strtoul(argv[i + 1], nullptr, 10);
    if (option == "--seed") seed = std::strtoul(argv[i + 1], nullptr, 10);
    if (option == "--input") file = argv[i + 1];
  }
  watch();
  if (file != nullptr) {
    std::ifstream stream(file, std::ios::binary);
    return stream && holds({std::istreambuf_iterator<char>(stream), {}}) ? 0 : 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  for (const std::string_view input : material.seeds) {
    if (!holds(std::string(input))) return 1;
  }
  Mutator mutator(material, seed);
  for (unsigned long i = 0; i < runs; ++i) {
    if (!holds(mutator.next())) {
      std::fprintf(stderr, "input %lu of seed %lu\n", i, seed);
      return 1;
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("%lu inputs in %.1f s, no finding\n", runs, time.count());
  return 0;
}
