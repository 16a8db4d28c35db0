#pragma once

#include <span>
#include <string>

#include "report/named_results.hpp"

namespace tutti::tools {

struct HtmlOptions {
  std::string baseline = {};  ///< backend whose time is 1 in the plots of speed-ups; empty: the first one
};

/// A page that needs no other file and no network. Several results are shown side by side, with ratios to the first.
[[nodiscard]] std::string to_html(std::span<const NamedResults> files, const HtmlOptions& options);

}  // namespace tutti::tools
