#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tutti::tools {

/// Text for HTML, both between tags and in quoted attributes.
[[nodiscard]] std::string escape_html(std::string_view text);

/// A document for a script element: no text in it can end the element.
[[nodiscard]] std::string script_json(const nlohmann::ordered_json& document);

/// `<name attributes>content</name>`; `content` is HTML, `attributes` begin with a blank or are empty.
[[nodiscard]] std::string element(std::string_view name, std::string_view attributes, std::string_view content);

/// ` name="value"`, escaped.
[[nodiscard]] std::string attribute(std::string_view name, std::string_view value);

/// The template with the text of each `{{name}}`. Inserted text is not searched for names. Throws Error{config} for a
/// name that `values` lacks.
[[nodiscard]] std::string fill_template(std::string_view page, const std::map<std::string_view, std::string>& values);

/// A number as JSON writes it: the shortest text that gives the same value.
[[nodiscard]] std::string exact_number(double value);

/// A time such as "4.56 µs", with the sign that browsers can show.
[[nodiscard]] std::string time_text(double microseconds);

}  // namespace tutti::tools
