#include "foreign_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace tutti::bench {
namespace {

double own_seconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    }
  }
  return seconds;
}

// The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal.
double busy_seconds() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int column = 0; column < 8; ++column) {
    double value = 0;
    file >> value;
    if (column != 3 && column != 4) ticks += value;
  }
  return ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double others_seconds() { return busy_seconds() - own_seconds(); }

}  // namespace

ForeignLoad::ForeignLoad() : begin_(std::chrono::steady_clock::now()), others_(others_seconds()) {}

double ForeignLoad::cores() const {
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
  return std::max(others_seconds() - others_, 0.0) / std::max(elapsed.count(), 1e-3);
}

}  // namespace tutti::bench
