#pragma once

#include <memory>

#include "tutti/export.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {

/// A store for ranks that are threads of this process.
[[nodiscard]] TUTTI_API std::shared_ptr<Store> make_local_store();

}  // namespace tutti
