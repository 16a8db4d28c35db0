#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/spi/module.hpp"

namespace tutti {

/// A backend module of this process, or a file that was meant to be one.
struct RegisteredModule {
  const spi::BackendModule* module = nullptr;  ///< null when it could not be used
  std::string name;                            ///< from the module, or from the file's name
  std::string variant;
  std::string location;  ///< "built in" or the file
  std::string rejected;  ///< why it could not be used
};

/// Knows all modules. Files are opened on first use, with local symbol scope, and never closed.
class Registry {
 public:
  /// The registry of the process.
  static Registry& instance();

  /// All modules: built-in ones first, then those of the directories of TUTTI_MODULE_PATH, then those beside the
  /// library. A name and variant seen earlier hides later ones. Thread-safe; the references stay valid.
  [[nodiscard]] std::vector<const RegisteredModule*> modules(const Config& config);

 private:
  void load_directory(const std::string& directory);
  void add(RegisteredModule module);
  [[nodiscard]] bool knows(std::string_view name, std::string_view variant) const;

  std::mutex mutex_;
  std::vector<std::string> loaded_directories_;
  std::vector<std::unique_ptr<RegisteredModule>> modules_;
};

}  // namespace tutti
