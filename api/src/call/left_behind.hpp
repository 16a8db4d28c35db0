#pragma once

#include <memory>

namespace tutti {

/// Keeps an object for the life of the process. For memory of an operation that has failed while a library that cannot
/// cancel the operation may still write to it.
void leave_behind(std::shared_ptr<void> object) noexcept;

}  // namespace tutti
