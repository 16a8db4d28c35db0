#include "session/process_facts.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tutti::profiling {
namespace {

std::int64_t clock_ns(clockid_t clock) noexcept {
  timespec now = {};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::size_t read_small_file(const char* path, std::span<char> text) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return 0;
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = read(file, text.data() + bytes, text.size() - bytes);
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  close(file);
  return bytes;
}

void read_command(std::span<char> text) noexcept {
  std::size_t bytes = read_small_file("/proc/self/cmdline", text.first(text.size() - 1));
  while (bytes > 0 && text[bytes - 1] == 0) --bytes;
  std::replace(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(bytes), '\0', ' ');
  text[bytes] = 0;
}

void read_host(std::span<char> text) noexcept {
  if (gethostname(text.data(), text.size()) != 0) text[0] = 0;
  text.back() = 0;
}

std::uint64_t resident_peak() noexcept {
  // Not getrusage(), whose peak survives exec.
  char text[2048];
  const std::size_t bytes = read_small_file("/proc/self/status", {text, sizeof text - 1});
  text[bytes] = 0;
  const char* at = std::strstr(text, "VmHWM:");
  if (at == nullptr) return 0;
  std::uint64_t kib = 0;
  for (at += 6; *at == ' ' || *at == '\t' || (*at >= '0' && *at <= '9'); ++at) {
    if (*at >= '0') kib = kib * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  return kib * 1024;
}

std::int64_t realtime_offset() noexcept {
  std::int64_t best = 0;
  std::int64_t shortest = INT64_MAX;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::int64_t before = clock_ns(CLOCK_MONOTONIC);
    const std::int64_t real = clock_ns(CLOCK_REALTIME);
    const std::int64_t after = clock_ns(CLOCK_MONOTONIC);
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = real - before - shortest / 2;
  }
  return best;
}

}  // namespace tutti::profiling
