#pragma once

#include <cstddef>
#include <string_view>

namespace tutti {

/// Limits of keys and values: the store is for names, handles and addresses. They bound the memory that a faulty peer
/// can make others allocate.
inline constexpr std::size_t kMaxKeyBytes = std::size_t{4} << 10;
inline constexpr std::size_t kMaxValueBytes = std::size_t{16} << 20;

/// Throws Error{invalid_argument} for an empty key, or a key or value beyond the limits.
void check_entry(std::string_view key, std::string_view value);

/// Throw the errors of Store::put() and Store::get(), with the same text in every implementation.
[[noreturn]] void throw_key_exists(std::string_view key);
[[noreturn]] void throw_key_missing(std::string_view key, std::string_view after);

}  // namespace tutti
