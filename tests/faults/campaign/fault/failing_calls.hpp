#pragma once

#include <cstdint>
#include <string>

namespace tutti::test::campaign {

/// The rank program replaces operator new and some functions of the C library, for itself and for the libraries that it
/// loads. This says which call fails, once, while a FailingScope exists.
void fail_allocation(std::uint64_t number) noexcept;
/// `choice` selects a function and its errno. Returns them for the report: "mmap ENOMEM".
std::string fail_system_call(std::uint64_t choice, std::uint64_t number);
/// The address space may grow by this much during a FailingScope.
void limit_memory(std::uint64_t bytes) noexcept;

/// Whether a call has been made to fail.
[[nodiscard]] bool has_failed_a_call() noexcept;
/// Allocations during all scopes so far.
[[nodiscard]] std::uint64_t counted_allocations() noexcept;

/// While it exists, the library runs: calls count and fail. Outside, the campaign's own code runs undisturbed.
class FailingScope {
 public:
  FailingScope() noexcept;
  ~FailingScope();
  FailingScope(const FailingScope&) = delete;
  FailingScope& operator=(const FailingScope&) = delete;
};

}  // namespace tutti::test::campaign
