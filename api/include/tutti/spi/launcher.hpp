#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::spi {

/// Facts that decide how a launcher is called.
struct LaunchRequest {
  std::string program = {};  ///< path of the launcher
  std::string version = {};  ///< number in the text that it prints for --version, e.g. "4.1.4"; may be empty
  std::string root = {};     ///< folder of the library; empty when the launcher was found in PATH
  int ranks = 1;
  int cores = 1;         ///< that the job may use
  bool is_root = false;  ///< the user is root
};

/// An environment variable of the ranks.
struct LaunchVariable {
  std::string name;
  std::string value;
  bool prepends = false;  ///< the value is a folder that goes before the others in a list of folders
};

/// Program of a library that starts the ranks of a job.
struct Launcher {
  std::string_view product;                    ///< word after the module's name in a spec
  std::string_view title;                      ///< name of the library for people
  std::span<const std::string_view> programs;  ///< names to look for in PATH, best first
  std::string_view rank_variable;              ///< environment variable in which the launcher gives a process its rank
  /// Beginnings of the names of variables that make a process a rank of the launcher's job. They are removed from the
  /// environment of a job within a job, whose ranks must not take the places of the outer ranks.
  std::span<const std::string_view> job_prefixes = {};
  std::string_view root_variable = {};  ///< environment variable with the folder of the library
  std::string_view root_default = {};   ///< that folder where the variable is not set; empty: none
  std::string_view root_program = {};   ///< path of the launcher below that folder; goes before `programs`

  /// Whether a program that prints this for --version is this launcher.
  bool (*identifies)(std::string_view version_output) = nullptr;
  /// The launcher and its options, without the ranks' program.
  std::vector<std::string> (*command)(const LaunchRequest&) = nullptr;
  /// Optional. Variables that the launcher and the ranks need.
  std::vector<LaunchVariable> (*variables)(const LaunchRequest&) = nullptr;
};

}  // namespace tutti::spi
