#include "report/html/html_axis.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostTicks = 8;
constexpr double kSameTick = 1e-9;  // relative error of a tick computed with pow()

/// Digits of the ticks in each decade, from coarse to fine.
constexpr std::array kDecade = {1.0};
constexpr std::array kThirds = {1.0, 2.0, 5.0};
constexpr std::array kFine = {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0};

/// Round numbers between which an axis has its ticks: powers of a base, multiplied by each of the digits.
struct Scale {
  double base = 10;
  std::span<const double> digits;

  [[nodiscard]] double number(int step) const {
    const auto count = static_cast<int>(digits.size());
    const int power = step >= 0 ? step / count : -((count - 1 - step) / count);
    return digits[static_cast<std::size_t>(step - count * power)] * std::pow(base, power);
  }

  /// The largest step whose number is not above `value`.
  [[nodiscard]] int below(double value) const {
    const auto count = static_cast<int>(digits.size());
    int step = count * (static_cast<int>(std::floor(std::log(value) / std::log(base))) + 2);
    while (number(step) > value * (1 + kSameTick)) --step;
    return step;
  }

  [[nodiscard]] int above(double value) const {
    const int step = below(value);
    return number(step) < value * (1 - kSameTick) ? step + 1 : step;
  }
};

/// Scales of a quantity, from fine to coarse.
std::vector<Scale> scales_of(Quantity quantity) {
  if (quantity == Quantity::bytes) return {{2, kDecade}, {4, kDecade}, {16, kDecade}, {256, kDecade}, {65536, kDecade}};
  std::vector<Scale> scales = {{10, kFine},    {10, kThirds},   {10, kDecade},
                               {100, kDecade}, {1000, kDecade}, {1e6, kDecade}};
  if (quantity == Quantity::count) scales.erase(scales.begin());  // half a call is no number to choose
  return scales;
}

std::string tick_text(Quantity quantity, double value) {
  if (quantity == Quantity::gigabytes_per_second || quantity == Quantity::factor || quantity == Quantity::count) {
    const std::string number = exact_number(std::round(value * 1e6) / 1e6);
    const std::string plain = number.ends_with(".0") ? number.substr(0, number.size() - 2) : number;
    return quantity == Quantity::factor ? plain + "×" : plain;
  }
  std::string text = quantity_text(quantity, value);
  // Ticks are round: "2.00 ms" is "2 ms".
  const std::size_t blank = text.find(' ');
  std::string number = text.substr(0, blank);
  if (number.find('.') != std::string::npos) {
    number.erase(number.find_last_not_of('0') + 1);
    if (number.ends_with('.')) number.pop_back();
  }
  return number + text.substr(blank);
}

}  // namespace

std::string quantity_text(Quantity quantity, double value) {
  switch (quantity) {
    case Quantity::time_us:
      return time_text(value);
    case Quantity::gigabytes_per_second:
      return three_digits(value) + " GB/s";
    case Quantity::bytes:
      return format_bytes_rounded(static_cast<std::uint64_t>(std::llround(value)));
    case Quantity::factor:
      return three_digits(value) + "×";
    case Quantity::count:
      break;
  }
  return value == std::floor(value) && value < 1e15 ? std::to_string(static_cast<std::uint64_t>(value))
                                                    : three_digits(value);
}

double Axis::place(double value) const { return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low)); }

Axis size_axis(std::span<const std::uint64_t> sizes, std::size_t most) {
  const auto least = static_cast<double>(std::max<std::uint64_t>(sizes.front(), 1));
  const auto largest = static_cast<double>(std::max<std::uint64_t>(sizes.back(), 1));
  // A little room, so that markers at the ends do not touch the frame.
  const double room = std::max(std::pow(largest / least, 0.03), 1.1);
  Axis axis{.low = least / room, .high = largest * room, .ticks = {}};
  double free_from = 0;
  for (const std::uint64_t size : sizes) {
    const auto value = static_cast<double>(std::max<std::uint64_t>(size, 1));
    if (axis.place(value) < free_from) continue;
    free_from = axis.place(value) + 1.0 / static_cast<double>(most);
    const std::string exact = format_bytes(size);
    const std::string rounded = format_bytes_rounded(size);
    axis.ticks.push_back({value, exact.size() <= rounded.size() ? exact : rounded});
  }
  return axis;
}

Axis value_axis(Quantity quantity, double least, double largest) {
  const std::vector<Scale> scales = scales_of(quantity);
  const auto ticks = std::ranges::find_if(scales, [&](const Scale& scale) {
    return scale.above(largest) - scale.below(least) < static_cast<int>(kMostTicks);
  });
  const Scale& scale = ticks == scales.end() ? scales.back() : *ticks;
  // The ends are finer than the ticks, so that a wide distance between ticks leaves no empty space.
  const bool is_coarse = scale.digits.size() == kDecade.size();
  const Scale ends = !is_coarse ? scale : quantity == Quantity::bytes ? scales.front() : Scale{10, kThirds};
  int first = ends.below(least);
  int last = ends.above(largest);
  if (first == last) {
    --first;
    ++last;
  }
  Axis axis{.low = ends.number(first), .high = ends.number(last), .ticks = {}};
  for (int step = scale.above(axis.low); step <= scale.below(axis.high); ++step)
    axis.ticks.push_back({scale.number(step), tick_text(quantity, scale.number(step))});
  return axis;
}

}  // namespace tutti::tools
