#include "results/results_csv.hpp"

#include "results/sweep_columns.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string quoted_if_needed(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

/// A list is its entries with blanks between them.
std::string unquoted(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& entry : value) text += (text.empty() ? "" : " ") + unquoted(entry);
  return text;
}

}  // namespace

std::string to_csv(const SweepResults& results) {
  std::string text;
  for (const SweepColumn& column : sweep_columns()) text += (text.empty() ? "" : ",") + std::string(column.key);
  text += '\n';
  for (const SweepRow& row : results.rows) {
    std::string line;
    for (const SweepColumn& column : sweep_columns()) {
      if (&column != sweep_columns().data()) line += ',';
      line += quoted_if_needed(unquoted(column.value(results, row)));
    }
    text += line + '\n';
  }
  return text;
}

}  // namespace tutti::tools
