#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "session/file_layout.hpp"

namespace tutti::profiling {

/// Everything that a process's file holds, as it is there. Nothing of it is checked but that it was within the file.
struct ProcessFile {
  struct Row {
    layout::Row row;
    layout::RowPlace place;
    std::uint32_t thread;
  };
  struct Event {
    layout::Event event;
    std::uint32_t thread;
  };
  struct Text {
    layout::Entry entry;
    std::string texts[layout::kTexts];
  };

  layout::Header header = {};
  std::vector<Row> rows;
  std::vector<Event> events;
  std::vector<layout::Balance> balances;
  std::vector<Text> descriptions;
  std::uint64_t file_bytes = 0;
  std::uint64_t last_ns = 0;
  std::uint64_t dropped = 0;
  std::uint64_t dropped_events = 0;
  std::string problem;  ///< damage, or empty
};

/// Files of processes in a session's folder, sorted. Throws std::runtime_error that names the folder if it cannot be
/// read.
[[nodiscard]] std::vector<std::filesystem::path> process_files(const std::filesystem::path& folder);

/// Reads the header of a process's file. Throws std::runtime_error if it is no such file, or cannot be read.
[[nodiscard]] layout::Header read_process_header(const std::filesystem::path& path);

/// Reads a process's file, also while it is being written. Throws std::runtime_error if it is no such file, or cannot
/// be read; damage within is noted in `problem`, and what comes before it is kept.
[[nodiscard]] ProcessFile read_process_file(const std::filesystem::path& path, bool events);

}  // namespace tutti::profiling
