// Fingerprints of calls that differ.
#include "tutti/spi/call_fingerprint.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tutti::spi {
namespace {

/// Counts whose bits meet those of kinds, types, reductions and roots.
std::vector<std::uint64_t> counts() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t count = 0; count < 64; ++count) all.push_back(count);
  for (unsigned bit = 6; bit < 44; ++bit) {
    for (std::uint64_t low = 0; low < 4; ++low) {
      all.push_back((std::uint64_t{1} << bit) + low);
      all.push_back((std::uint64_t{3} << bit) + low);
    }
  }
  return all;
}

TEST(CallFingerprint, DiffersWhereTheCallsDiffer) {
  for (const std::uint64_t history : {std::uint64_t{0}, std::uint64_t{0x1234'5678'9abc'def0}}) {
    std::map<std::uint64_t, std::string> known;
    for (std::size_t number = 0; number < kOpKindCount; ++number) {
      const auto kind = static_cast<OpKind>(number);
      if (is_message(kind) || is_vector(kind)) continue;
      for (const DataType type : kDataTypes) {
        for (const std::uint64_t count : counts()) {
          for (int variant = 0; variant < 4; ++variant) {
            Operation op;
            op.kind = kind;
            op.type = type;
            op.count = count;
            const bool varies = traits(kind).reduces || traits(kind).rooted;
            if (variant != 0 && !varies) continue;
            if (traits(kind).reduces) op.reduction = static_cast<Reduction>(variant);
            if (!traits(kind).reduces && traits(kind).rooted) op.root = variant;
            const std::string text = describe(op) + " " + std::to_string(variant) + " " + std::to_string(count);
            const auto [row, is_new] = known.try_emplace(fingerprint(op, 4, history), text);
            ASSERT_TRUE(is_new) << row->second << " looks like " << text;
          }
        }
      }
    }
  }
}

TEST(CallFingerprint, IncludesTheCallsBefore) {
  Operation op;
  op.kind = OpKind::barrier;
  EXPECT_NE(fingerprint(op, 2, 1), fingerprint(op, 2, 2));
  EXPECT_EQ(fingerprint(op, 2, 1), fingerprint(op, 2, 1));
}

}  // namespace
}  // namespace tutti::spi
