#pragma once

#include <cstdint>

namespace tutti::test {

/// Number of calls of operator new in this process. The program must link tutti_test_allocation_counter, which replaces
/// operator new.
[[nodiscard]] std::uint64_t allocation_count() noexcept;

/// While it exists, call `number` of operator new in this thread, counted from 1, throws std::bad_alloc; 0: none does.
/// The destructor tells whether there was such a call.
class FailingAllocation {
 public:
  FailingAllocation(std::uint64_t number, bool& has_failed) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

 private:
  std::uint64_t number_;
  bool& has_failed_;
};

}  // namespace tutti::test
