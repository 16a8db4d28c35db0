#pragma once

#include <cstddef>
#include <string_view>

namespace tutti {

/// The store is for names, handles and addresses. The limits bound what a broken peer can make others allocate.
inline constexpr std::size_t kMaxKeyBytes = std::size_t{4} << 10;
inline constexpr std::size_t kMaxValueBytes = std::size_t{16} << 20;

/// Throws Error{invalid_argument} for a key or a value beyond the limits.
void check_entry(std::string_view key, std::string_view value);

/// Throw what Store::put and Store::get promise, with the same words in every implementation.
[[noreturn]] void throw_key_exists(std::string_view key);
[[noreturn]] void throw_key_missing(std::string_view key, std::string_view after);

}  // namespace tutti
