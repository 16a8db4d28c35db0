#pragma once

#include "segment/layout.hpp"
#include "tutti/spi/home_process.hpp"

namespace tutti::native {

/// While it exists, an exit() of the process is noted in the rank's control, so that the others can tell a program that
/// ended without destroying its communicator from one that was killed. _exit() and signals leave no note. Nor does the
/// exit of a forked child, which does not have the segment.
class ExitMark {
 public:
  explicit ExitMark(RankControl& control);
  ~ExitMark();
  ExitMark(const ExitMark&) = delete;
  ExitMark& operator=(const ExitMark&) = delete;

 private:
  static void note(int code, void*) noexcept;

  RankControl& control_;
  spi::HomeProcess process_;
  ExitMark* previous_ = nullptr;
  ExitMark* next_ = nullptr;
};

}  // namespace tutti::native
