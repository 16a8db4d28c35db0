#pragma once

#include <string>

namespace tutti::tools {

/// A program file before it is started.
struct ProgramCheck {
  std::string obstacle;         ///< why its calls cannot be recorded: "it is statically linked"; or empty
  bool accepts_preload = true;  ///< false: the dynamic loader would complain about preloaded libraries
  bool needs_shell = false;     ///< a script without "#!", which a shell runs itself
};

/// Looks at the file and, if it is a script, at its interpreter. A file that cannot be read has no obstacle.
[[nodiscard]] ProgramCheck check_program(const std::string& path);

}  // namespace tutti::tools
