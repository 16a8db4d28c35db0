#include "report/html/html_text.hpp"

#include <nlohmann/json.hpp>

#include "text/json_text.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {

std::string escape_html(std::string_view text) {
  std::string html;
  html.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        // HTML allows no other control characters, not even as references.
        html += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return html;
}

std::string script_json(const nlohmann::ordered_json& document) {
  std::string json;
  for (const char c : document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) {
    // Outside of strings JSON has no such character.
    if (c == '<') {
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  return json;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  return concat('<', name, attributes, '>', content, "</", name, '>');
}

std::string attribute(std::string_view name, std::string_view value) {
  return concat(' ', name, "=\"", escape_html(value), '"');
}

std::string fill_template(std::string_view page, const std::map<std::string_view, std::string>& values) {
  std::string filled;
  while (true) {
    const std::size_t begin = page.find("{{");
    filled += page.substr(0, begin);
    if (begin == std::string_view::npos) return filled;
    const std::size_t end = page.find("}}", begin);
    const std::string_view name = page.substr(begin + 2, end == std::string_view::npos ? end : end - begin - 2);
    const auto value = values.find(name);
    if (end == std::string_view::npos || value == values.end())
      throw Error(ErrorCode::config, concat("template of the report: no value for \"", name, '"'));
    filled += value->second;
    page.remove_prefix(end + 2);
  }
}

std::string exact_number(double value) { return nlohmann::ordered_json(value).dump(); }

std::string time_text(double microseconds) {
  std::string text = format_time_us(microseconds);
  if (text.ends_with(" us")) text.replace(text.size() - 2, 1, "µ");
  return text;
}

}  // namespace tutti::tools
