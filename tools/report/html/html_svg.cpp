#include <fmt/format.h>

#include <ranges>

#include "report/html/html_plot.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

// Size of the drawing and of the room for labels around the plot area, in SVG units.
constexpr double kWidth = 560;
constexpr double kHeight = 320;
constexpr double kLeft = 68;
constexpr double kRight = 14;
constexpr double kTop = 12;
constexpr double kBottom = 44;
constexpr double kMarker = 4;

std::string coordinate(double value) { return fmt::format("{:.1f}", value); }

double x_of(const Plot& plot, double value) { return kLeft + plot.x.place(value) * (kWidth - kLeft - kRight); }
double y_of(const Plot& plot, double value) {
  return kHeight - kBottom - plot.y.place(value) * (kHeight - kTop - kBottom);
}

std::string line_svg(double x1, double y1, double x2, double y2, std::string_view css) {
  return fmt::format(R"(<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>)", css, x1, y1, x2, y2);
}

std::string text_svg(double x, double y, std::string_view css, std::string_view text) {
  return fmt::format(R"(<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>)", css, x, y, escape_html(text));
}

std::string axes_svg(const Plot& plot) {
  std::string svg;
  const double bottom = kHeight - kBottom;
  for (const AxisTick& tick : plot.y.ticks) {
    const double y = y_of(plot, tick.value);
    svg += line_svg(kLeft, y, kWidth - kRight, y, tick.value == 1 && !plot.baseline.empty() ? "one" : "grid");
    svg += text_svg(kLeft - 8, y + 4, "tick end", tick.label);
  }
  for (const AxisTick& tick : plot.x.ticks) {
    const double x = x_of(plot, tick.value);
    svg += line_svg(x, kTop, x, bottom, "grid");
    svg += text_svg(x, bottom + 18, "tick middle", tick.label);
  }
  svg += line_svg(kLeft, bottom, kWidth - kRight, bottom, "axis");
  return svg + text_svg((kLeft + kWidth - kRight) / 2, kHeight - 6, "label middle", "message size");
}

std::string line_svg(const Plot& plot, const PlotLine& line) {
  std::string path;
  std::string markers;
  for (const PlotPoint& point : line.points) {
    const double x = x_of(plot, point.x);
    const double y = y_of(plot, point.y);
    path += concat(point.is_joined ? 'L' : 'M', coordinate(x), ' ', coordinate(y));
    const std::string title =
        concat(line.name, ", ", format_bytes(static_cast<std::uint64_t>(point.x)), ": ", point.text);
    markers += concat("<g>", element("title", "", escape_html(title)), marker_svg(line.backend, x, y, kMarker), "</g>");
  }
  const std::string css = concat("line s", line.backend % kSeriesStyles, " f", line.file % kSeriesStyles);
  return element("g", attribute("class", css) + attribute("data-series", line.name),
                 concat("<path d=\"", path, "\"/>", markers));
}

std::string gap_svg(const Plot& plot, const PlotGap& gap) {
  const double x = x_of(plot, gap.x);
  const double y = kHeight - kBottom - 7;
  return element("g", " class=\"gap\"",
                 concat(element("title", "", escape_html(gap.text)),
                        fmt::format(R"(<path d="M{:.1f} {:.1f}l8 8m0 -8l-8 8"/>)", x - 4, y - 4)));
}

}  // namespace

std::string marker_svg(std::size_t backend, double x, double y, double radius) {
  const double r = radius;
  switch (backend % kSeriesStyles) {
    case 0:
      return fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>)", x, y, r);
    case 1:  // triangle
      return fmt::format(R"(<path d="M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z"/>)", x, y - 1.2 * r, 1.2 * r, 2.1 * r,
                         -2.4 * r);
    case 2:  // square
      return fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", x - 0.9 * r, y - 0.9 * r,
                         1.8 * r, 1.8 * r);
    case 3:  // diamond
      return fmt::format(R"(<path d="M{0:.1f} {1:.1f}l{2:.1f} {2:.1f}l-{2:.1f} {2:.1f}l-{2:.1f} -{2:.1f}z"/>)", x,
                         y - 1.3 * r, 1.3 * r);
    case 4:  // cross
      return fmt::format(R"(<path class="stroke" d="M{0:.1f} {1:.1f}h{3:.1f}M{2:.1f} {4:.1f}v{3:.1f}"/>)", x - 1.2 * r,
                         y, x, 2.4 * r, y - 1.2 * r);
    case 5:  // triangle on its tip
      return fmt::format(R"(<path d="M{:.1f} {:.1f}l{:.1f} {:.1f}h{:.1f}z"/>)", x, y + 1.2 * r, 1.2 * r, -2.1 * r,
                         -2.4 * r);
    case 6:  // ring
      return fmt::format(R"(<circle class="open" cx="{:.1f}" cy="{:.1f}" r="{:.1f}"/>)", x, y, r);
    default:  // open square
      return fmt::format(R"(<rect class="open" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>)", x - 0.9 * r,
                         y - 0.9 * r, 1.8 * r, 1.8 * r);
  }
}

std::string to_svg(const Plot& plot) {
  std::string svg = axes_svg(plot);
  // The first series lies on top, as in Chart.js.
  for (const PlotLine& line : plot.lines | std::views::reverse) svg += line_svg(plot, line);
  for (const PlotGap& gap : plot.gaps) svg += gap_svg(plot, gap);
  return element("svg",
                 concat(R"( role="img" viewBox="0 0 )", kWidth, ' ', kHeight, '"',
                        attribute("aria-label", concat(plot.title, " by message size"))),
                 svg);
}

}  // namespace tutti::tools
