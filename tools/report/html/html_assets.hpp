#pragma once

#include <string_view>

namespace tutti::tools {

// Files of report/html, and Chart.js where the build found it. The build embeds them: see cmake/EmbedText.cmake.
extern const std::string_view kReportPage;    ///< page.html
extern const std::string_view kReportStyle;   ///< report.css
extern const std::string_view kReportScript;  ///< report.js
extern const std::string_view kChartLibrary;  ///< chart.min.js, or empty

}  // namespace tutti::tools
