#include "replay/shipped_records.hpp"

#include <algorithm>
#include <filesystem>

#include "launch/process.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr std::string_view kSuffix = ".record";

// share/tutti/records, beside bin/ in an installation as in a build folder.
std::filesystem::path folder() {
  return std::filesystem::path(own_program()).parent_path().parent_path() / "share" / "tutti" / "records";
}

}  // namespace

std::vector<std::string> shipped_records() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), error)) {
    if (entry.path().extension() == kSuffix) names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string find_record(const std::string& name) {
  std::error_code error;
  if (std::filesystem::is_directory(name, error))
    throw UsageError(concat('"', name, "\" is a folder; give a record file"));
  if (std::filesystem::exists(name, error)) return std::filesystem::absolute(name).string();
  const std::vector<std::string> names = shipped_records();
  if (std::ranges::find(names, name) != names.end()) return folder() / (name + std::string(kSuffix));
  throw UsageError(concat("record ", printable(name), " does not exist; records that come with tutti: ",
                          names.empty() ? "none" : join(names, ", ")));
}

}  // namespace tutti::tools
