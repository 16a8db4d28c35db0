#include "comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/json_text.hpp"
#include "text/table.hpp"
#include "text/text.hpp"

namespace tutti::bench {
namespace {

using tools::Align;
using tools::concat;

constexpr std::uint64_t kShort = 1024;
constexpr double kShortTarget = 0.85;
constexpr double kTarget = 0.95;
constexpr std::size_t kWide = 200;  // tables of numbers are not wrapped

std::string shown(const Sample& sample) {
  if (!sample.ok()) return "-";
  return fmt::format("{} ±{:.0f}%", tools::three_digits(sample.median_us()), 100 * sample.spread());
}

nlohmann::ordered_json to_json(const Sample& sample) {
  nlohmann::ordered_json entry = {{"status", sample.problem.empty() ? "ok" : sample.problem}};
  if (sample.ok()) {
    entry.update({{"median_us", sample.median_us()}, {"spread", sample.spread()}, {"rounds_us", sample.rounds_us}});
  }
  return entry;
}

}  // namespace

double Comparison::target() const noexcept { return bytes < kShort ? kShortTarget : kTarget; }

Comparison::State Comparison::state() const {
  if (!direct.ok() || !through.ok()) return State::failed;
  if (ratio() >= target()) return State::met;
  return ratio() * (1 + direct.spread() + through.spread()) >= target() ? State::within_spread : State::missed;
}

std::string Comparison::problem() const {
  if (!direct.problem.empty()) return concat("called directly: ", direct.problem);
  return through.problem.empty() ? "" : concat("through tutti: ", through.problem);
}

std::string name(Comparison::State state) {
  switch (state) {
    case Comparison::State::met:
      return "met";
    case Comparison::State::within_spread:
      return "missed (within the spread)";
    case Comparison::State::missed:
      return "missed";
    case Comparison::State::failed:
      break;
  }
  return "failed";
}

bool passes(const std::vector<Comparison>& comparisons) {
  return !comparisons.empty() && std::ranges::all_of(comparisons, [](const Comparison& one) {
    return one.state() == Comparison::State::met || one.state() == Comparison::State::within_spread;
  });
}

std::string table(const std::vector<Comparison>& comparisons, const tools::Terminal& terminal) {
  tools::Table rows({{"library"},
                     {"bytes", Align::right},
                     {"direct us", Align::right},
                     {"through tutti us", Align::right},
                     {"ratio", Align::right},
                     {"target", Align::right},
                     {"verdict"}});
  std::string problems;
  for (const Comparison& one : comparisons) {
    const bool known = one.state() != Comparison::State::failed;
    rows.add({one.library, tools::format_bytes(one.bytes), shown(one.direct), shown(one.through),
              known ? fmt::format("{:.2f}", one.ratio()) : "-", fmt::format("{:.2f}", one.target()),
              name(one.state())});
    if (const std::string problem = one.problem(); !problem.empty()) {
      problems += concat("  ", one.library, " at ", tools::format_bytes(one.bytes), " ", problem, '\n');
    }
  }
  return rows.render(terminal, kWide) + problems;
}

std::string to_json(const std::vector<Contestant>& contestants, const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json document;
  for (const Contestant& contestant : contestants) {
    document["libraries"].push_back(
        {{"key", contestant.key}, {"settings", contestant.shown_settings(2)}, {"absent", contestant.absent}});
  }
  document["comparisons"] = nlohmann::ordered_json::array();
  for (const Comparison& one : comparisons) {
    const bool known = one.state() != Comparison::State::failed;
    document["comparisons"].push_back({{"library", one.library},
                                       {"bytes", one.bytes},
                                       {"direct", to_json(one.direct)},
                                       {"through", to_json(one.through)},
                                       {"ratio", known ? nlohmann::ordered_json(one.ratio()) : nullptr},
                                       {"target", one.target()},
                                       {"verdict", name(one.state())}});
  }
  return tools::to_text(document);
}

}  // namespace tutti::bench
