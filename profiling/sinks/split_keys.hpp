#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "report/profile.hpp"
#include "sinks/breakdown.hpp"

namespace tutti::profiling {

/// Classes of message sizes for tables: each size by itself where there are few, powers of two where there are many.
class SizeClasses {
 public:
  /// More different sizes than this are put into powers of two.
  static constexpr std::size_t kMostExact = 24;

  explicit SizeClasses(const Profile& profile) : SizeClasses(std::array{&profile}) {}
  /// The same classes for several profiles.
  explicit SizeClasses(std::span<const Profile* const> profiles);
  /// The smallest size of the class that `bytes` belongs to.
  [[nodiscard]] std::uint64_t class_of(std::uint64_t bytes) const noexcept;
  /// "64 KiB", or "64 KiB to 128 KiB" (exclusive) for a class of several sizes.
  [[nodiscard]] std::string name(std::uint64_t class_begin) const;

 private:
  bool exact_ = true;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> used_;  ///< class: smallest and largest size in it
};

/// One value of a field by which a table is split.
struct SplitValue {
  std::int64_t number = 0;  ///< order of sizes, ranks and devices; 0 for other fields
  std::string text;
  auto operator<=>(const SplitValue&) const = default;
};

/// The values of a row's fields.
class SplitKeys {
 public:
  explicit SplitKeys(const Profile& profile);
  [[nodiscard]] SplitValue value(const TallyRow& row, SplitBy field) const;
  /// Title of the field's column.
  [[nodiscard]] static const char* title(SplitBy field) noexcept;

 private:
  [[nodiscard]] SplitValue size_of(const TallyRow& row) const;

  const Profile& profile_;
  SizeClasses sizes_;
  std::vector<std::string> devices_;
};

/// Names of devices for people: "GPU Max 1550 #0.1" is sub-device 1 of the first of several devices of that name.
[[nodiscard]] std::vector<std::string> device_names(const Profile& profile);

}  // namespace tutti::profiling
