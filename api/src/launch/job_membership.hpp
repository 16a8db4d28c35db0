#pragma once

#include <memory>

#include "tutti/rendezvous.hpp"

namespace tutti {

/// Keeps this rank in its job. When the last copy of the pointer to it goes, which the communicators of the job share,
/// the rank leaves the job, and the store ends if this process serves it. A rank that ends before that is a lost one.
struct JobMembership {
  JobMembership(std::shared_ptr<StoreServer> serves, std::shared_ptr<Store> uses) noexcept
      : server(std::move(serves)), store(std::move(uses)) {}
  ~JobMembership() {
    // Other objects may still hold the store, for example libraries that stay until the process ends.
    if (store) store->leave();
  }
  JobMembership(const JobMembership&) = delete;
  JobMembership& operator=(const JobMembership&) = delete;

  std::shared_ptr<StoreServer> server;  ///< null unless this process serves the store
  std::shared_ptr<Store> store;
};

}  // namespace tutti
