#include "plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text/text.hpp"

namespace tutti::bench {
namespace {

constexpr double kPanelWidth = 520;
constexpr double kPanelHeight = 380;
constexpr double kLeft = 72;
constexpr double kRight = 16;
constexpr double kTop = 40;
constexpr double kBottom = 50;
constexpr double kLegendHeight = 34;
constexpr int kPanelsPerRow = 2;

/// Style of a line. The colours are those of Okabe and Ito.
struct Style {
  std::string_view key;
  std::string_view colour;
  double width;
  std::string_view dash;
  char mark;  // o circle, s square, t triangle, d diamond, x cross, v triangle upside down
};
constexpr std::array<Style, 8> kStyles = {{{"native", "#0072B2", 3, "", 'o'},
                                           {"native-threads", "#56B4E9", 2, "", 's'},
                                           {"native-allocate", "#000000", 2, "", 'd'},
                                           {"mpi-openmpi", "#E69F00", 1.5, "", 't'},
                                           {"mpi-mpich", "#D55E00", 1.5, "", 'v'},
                                           {"mpi-intel", "#009E73", 1.5, "", 'd'},
                                           {"ccl", "#CC79A7", 1.5, "", 'x'},
                                           {"limit", "#000000", 1.5, "6 4", ' '}}};

const Style& style_of(std::string_view key) {
  const auto found = std::ranges::find(kStyles, key, &Style::key);
  return found == kStyles.end() ? kStyles.back() : *found;
}

struct Line {
  std::string title;
  Style style;
  std::vector<std::pair<double, double>> points = {};  // bytes, GB/s
};

struct Panel {
  std::string title;
  std::vector<Line> lines;
};

std::string mark(const Style& style, double x, double y) {
  constexpr double r = 3.5;
  const auto path = [&](const std::string& d) {
    return fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", d, style.colour);
  };
  switch (style.mark) {
    case 'o':
      return fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x, y, r, style.colour);
    case 's':
      return path(fmt::format("M{:.1f} {:.1f}h{}v{}h-{}z", x - r, y - r, 2 * r, 2 * r, 2 * r));
    case 't':
      return path(fmt::format("M{:.1f} {:.1f}l{} {}h-{}z", x, y - r - 1, r + 1, 2 * r + 1, 2 * r + 2));
    case 'v':
      return path(fmt::format("M{:.1f} {:.1f}l{} -{}h-{}z", x, y + r + 1, r + 1, 2 * r + 1, 2 * r + 2));
    case 'd':
      return path(fmt::format("M{0:.1f} {1:.1f}l{2} {2}l-{2} {2}l-{2} -{2}z", x, y - r - 1, r + 1));
    case 'x':
      return fmt::format("<path d=\"M{0:.1f} {1:.1f}l{2} {2}m0 -{2}l-{2} {2}\" stroke=\"{3}\" stroke-width=\"2\"/>\n",
                         x - r, y - r, 2 * r, style.colour);
    default:
      return {};
  }
}

std::vector<Panel> panels_of(const Results& results) {
  std::vector<Panel> panels;
  const Workload* last = nullptr;
  for (const Cell& cell : results.cells) {
    const Workload& work = cell.workload;
    if (work.op == Op::barrier || work.type != Type::float32) continue;
    if (last == nullptr || last->op != work.op || last->ranks != work.ranks) {
      Panel& panel = panels.emplace_back(Panel{tools::concat(name(work.op), ", ", work.ranks, " ranks"), {}});
      for (const Contestant& contestant : results.contestants) {
        if (contestant.kind != Contestant::Kind::limit) {
          panel.lines.push_back({contestant.title, style_of(contestant.key)});
        }
      }
      panel.lines.push_back({"limit of the memory", style_of("limit")});
    }
    last = &work;
    const auto add = [&](Line& line, double microseconds) {
      const auto bytes = static_cast<double>(work.bytes);
      line.points.emplace_back(bytes, bytes / microseconds * 1e-3);
    };
    std::size_t line = 0;
    for (std::size_t i = 0; i < results.contestants.size(); ++i) {
      if (results.contestants[i].kind == Contestant::Kind::limit) continue;
      if (cell.samples[i].ok()) add(panels.back().lines[line], cell.samples[i].median_us());
      ++line;
    }
    if (const auto limit = results.limit_us(cell)) add(panels.back().lines[line], *limit);
  }
  return panels;
}

/// Logarithmic axes that contain all points of a panel.
class Scale {
 public:
  explicit Scale(const Panel& panel) {
    for (const Line& line : panel.lines) {
      for (const auto& [bytes, speed] : line.points) {
        x_low_ = std::min(x_low_, std::log2(bytes));
        x_high_ = std::max(x_high_, std::log2(bytes));
        y_low_ = std::min(y_low_, std::floor(std::log10(speed)));
        y_high_ = std::max(y_high_, std::ceil(std::log10(speed)));
      }
    }
    x_high_ = std::max(x_high_, x_low_ + 1);
    y_high_ = std::max(y_high_, y_low_ + 1);
  }
  [[nodiscard]] double x(double bytes) const {
    return kLeft + (std::log2(bytes) - x_low_) / (x_high_ - x_low_) * (kPanelWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double speed) const {
    return kPanelHeight - kBottom - (std::log10(speed) - y_low_) / (y_high_ - y_low_) * (kPanelHeight - kTop - kBottom);
  }
  [[nodiscard]] int x_first() const { return static_cast<int>(std::ceil(x_low_)); }
  [[nodiscard]] int x_last() const { return static_cast<int>(std::floor(x_high_)); }
  [[nodiscard]] int y_first() const { return static_cast<int>(y_low_); }
  [[nodiscard]] int y_last() const { return static_cast<int>(y_high_); }

 private:
  double x_low_ = 1e9;
  double x_high_ = -1e9;
  double y_low_ = 1e9;
  double y_high_ = -1e9;
};

std::string axes(const Scale& scale) {
  std::string out;
  const double bottom = kPanelHeight - kBottom;
  const double right = kPanelWidth - kRight;
  const int step = std::max((scale.x_last() - scale.x_first()) / 7, 1);
  for (int power = scale.x_first(); power <= scale.x_last(); power += step) {
    const double x = scale.x(std::exp2(power));
    out += fmt::format("<path d=\"M{0:.1f} {1}V{2}\" stroke=\"#ddd\"/>\n", x, kTop, bottom);
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, bottom + 17,
                       tools::format_bytes(std::uint64_t{1} << power));
  }
  for (int power = scale.y_first(); power <= scale.y_last(); ++power) {
    const double y = scale.y(std::pow(10, power));
    out += fmt::format("<path d=\"M{} {:.1f}H{}\" stroke=\"#ddd\"/>\n", kLeft, y, right);
    out += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", kLeft - 6, y + 4,
                       std::pow(10, power));
  }
  out += fmt::format("<path d=\"M{0} {1}V{2}H{3}\" fill=\"none\" stroke=\"#444\"/>\n", kLeft, kTop, bottom, right);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">bytes per rank</text>\n", (kLeft + right) / 2,
                     kPanelHeight - 12);
  out += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">bytes / time, GB/s</text>\n",
      (kTop + bottom) / 2);
  return out;
}

std::string draw(const Panel& panel) {
  const Scale scale(panel);
  std::string out = axes(scale);
  out += fmt::format("<text x=\"{}\" y=\"26\" font-size=\"15\" font-weight=\"bold\">{}</text>\n", kLeft, panel.title);
  // In reverse order, so that the first line is in front.
  for (auto line = panel.lines.rbegin(); line != panel.lines.rend(); ++line) {
    std::string path;
    std::string marks;
    for (const auto& [bytes, speed] : line->points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', scale.x(bytes), scale.y(speed));
      marks += mark(line->style, scale.x(bytes), scale.y(speed));
    }
    if (path.empty()) continue;
    out += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n{}",
                       path, line->style.colour, line->style.width,
                       line->style.dash.empty() ? "none" : line->style.dash, marks);
  }
  return out;
}

std::string legend(const Panel& panel) {
  std::string out;
  double x = kLeft;
  for (const Line& line : panel.lines) {
    out += fmt::format("<path d=\"M{} 20h28\" stroke=\"{}\" stroke-width=\"{}\" stroke-dasharray=\"{}\"/>\n", x,
                       line.style.colour, line.style.width, line.style.dash.empty() ? "none" : line.style.dash);
    out += mark(line.style, x + 14, 20);
    out += fmt::format("<text x=\"{}\" y=\"24\">{}</text>\n", x + 34, line.title);
    x += 56 + 7.0 * static_cast<double>(line.title.size());
  }
  return out;
}

}  // namespace

std::string plot(const Results& results) {
  const std::vector<Panel> panels = panels_of(results);
  const int rows = (static_cast<int>(panels.size()) + kPanelsPerRow - 1) / kPanelsPerRow;
  const double width = kPanelsPerRow * kPanelWidth;
  const double height = kLegendHeight + rows * kPanelHeight;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n",
      width, height);
  if (!panels.empty()) out += legend(panels.front());
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const double x = kPanelWidth * static_cast<double>(i % kPanelsPerRow);
    const double y = kLegendHeight + kPanelHeight * static_cast<double>(i / kPanelsPerRow);
    out += fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n", x, y, draw(panels[i]));
  }
  return out + "</svg>\n";
}

}  // namespace tutti::bench
