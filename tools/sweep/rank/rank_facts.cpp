#include "sweep/rank/rank_facts.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <vector>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

namespace fs = std::filesystem;

std::uint64_t count_threads() {
  std::error_code error;
  std::uint64_t count = 0;
  for (fs::directory_iterator entry("/proc/self/task", error), end; !error && entry != end; entry.increment(error)) {
    ++count;
  }
  return count;
}

std::vector<fs::path> loaded_objects() {
  std::vector<fs::path> objects;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* list) {
        if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0')
          static_cast<std::vector<fs::path>*>(list)->emplace_back(info->dlpi_name);
        return 0;
      },
      &objects);
  return objects;
}

/// Whether the file is that library: "NAME", "NAME.so", "NAME.so.1", "NAME.variant.so".
bool is_library(const fs::path& file, std::string_view name) {
  const std::string text = file.filename().string();
  return text.starts_with(name) && text.size() > name.size() && text[name.size()] == '.';
}

}  // namespace

RankProcess this_process() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {.host = host.data(), .pid = getpid(), .threads = count_threads()};
}

std::string to_text(const RankProcess& process) { return concat(process.host, ' ', process.pid, ' ', process.threads); }

std::optional<RankProcess> process_from(std::string_view text) {
  std::istringstream in{std::string(text)};
  RankProcess process;
  std::string rest;
  in >> process.host >> process.pid >> process.threads;
  if (!in || in >> rest) return std::nullopt;
  return process;
}

std::string library_of(std::string_view backend) {
  const std::vector<fs::path> objects = loaded_objects();
  std::vector<std::string> words = split(backend, ':');
  std::ranges::reverse(words);
  std::vector<std::string> names;
  for (const std::string& word : words) names.push_back("lib" + word);
  for (const std::string& word : words) names.push_back("libtutti_backend_" + word);
  names.emplace_back("libtutti");
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(objects, [&](const fs::path& file) { return is_library(file, name); });
    if (found == objects.end()) continue;
    std::error_code error;
    const fs::path file = fs::canonical(*found, error);  // with the full version in its name
    return (error ? *found : file).string();
  }
  return {};
}

}  // namespace tutti::tools
