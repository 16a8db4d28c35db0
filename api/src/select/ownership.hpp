#pragma once

#include <string>
#include <utility>

#include "tutti/spi/backend.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::spi {

/// The core's access to what a communicator knows of itself.
class Ownership {
 public:
  /// Takes over a communicator that `module` has created. `product`: empty where the module has none.
  static void take(BackendCommunicator& communicator, const BackendModule& module, const std::string& product) {
    std::string name(module.name);
    if (!product.empty()) name += ":" + product;
    if (const BackendCommunicator* inner = communicator.do_inner()) name += ":" + inner->name();
    communicator.module_ = &module;
    communicator.name_ = std::move(name);
  }
  /// Sets the text that errors of the communicator end with; see describe_ranks().
  static void set_ranks(BackendCommunicator& communicator, std::string ranks) {
    communicator.ranks_ = std::move(ranks);
  }
  /// Lets a communicator appear as another one, which it stands for.
  static void appear_as(BackendCommunicator& communicator, const BackendCommunicator& other) {
    appear_as(communicator, other.module_, other.name_);
  }
  static void appear_as(BackendCommunicator& communicator, const BackendModule* module, std::string name) {
    communicator.module_ = module;
    communicator.name_ = std::move(name);
  }
};

}  // namespace tutti::spi
