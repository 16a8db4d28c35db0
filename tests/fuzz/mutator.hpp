#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "fuzz.hpp"

namespace tutti::fuzz {

/// Makes inputs from a target's material: equal seeds give equal inputs on every machine.
class Mutator {
 public:
  Mutator(const Material& source, std::uint64_t seed) : material_(source), random_(seed) {}

  [[nodiscard]] std::string next() {
    std::string input(pick(material_.seeds));
    for (std::size_t steps = below(6) + (below(16) == 0 ? 24 : 0); steps > 0; --steps) mutate(input);
    // A long input now and then: a parser that is not linear exceeds the time limit.
    if (below(kLongEvery) == 0) lengthen(input);
    return input;
  }

 private:
  static constexpr std::size_t kLongEvery = 4000;
  static constexpr std::size_t kLong = std::size_t{1} << 18;
  static constexpr std::size_t kUsual = 2048;

  /// Not std::uniform_int_distribution, whose numbers differ between libraries.
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  std::string_view pick(std::span<const std::string_view> list) {
    return list.empty() ? std::string_view() : list[below(list.size())];
  }

  void mutate(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    const std::size_t count = below(input.size() - at + 1);
    switch (below(10)) {
      case 0:  // a flipped bit
        if (at < input.size()) input[at] = static_cast<char>(static_cast<unsigned char>(input[at]) ^ (1U << below(8)));
        break;
      case 1:  // any byte
        input.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 2:
      case 3:
        input.insert(at, pick(material_.words));
        break;
      case 4:  // a word in place of a part
        input.replace(at, count, pick(material_.words));
        break;
      case 5:
        input.erase(at, count);
        break;
      case 6:
        input.resize(at);
        break;
      case 7:  // another seed in place of the rest
        input.replace(at, std::string::npos, pick(material_.seeds));
        break;
      case 8:  // a number, often near a power of two
        input.insert(at, std::to_string((std::uint64_t{1} << below(64)) + below(3) - 1));
        break;
      default:  // a part several times
        repeat(input, at, count, 1 + below(8));
        break;
    }
    if (input.size() > kUsual) input.resize(kUsual);
  }

  static void repeat(std::string& input, std::size_t at, std::size_t count, std::size_t times) {
    const std::string part = input.substr(at, count);
    for (; times > 0; --times) input.insert(at, part);
  }

  void lengthen(std::string& input) {
    const std::string part = input.empty() ? std::string("0") : input.substr(below(input.size()));
    while (input.size() < kLong) input += part;
  }

  Material material_;
  std::mt19937_64 random_;
};

}  // namespace tutti::fuzz
