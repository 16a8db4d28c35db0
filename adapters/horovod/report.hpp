#pragma once

#include <cstddef>
#include <string>

/// Counts of the tensors of this process, for TUTTI_SHOW=1. The process of rank 0 prints them when it exits; one that
/// ends by _exit() prints nothing.
namespace tutti::horovod_adapter {

/// After the engine has been created; `backend` carries out its operations. Throws Error{config} for a value of the
/// variable that is no flag.
void begin_report(int rank, const std::string& backend);

/// Tensors of one call of a framework. `operation`: upstream's name.
void count_tensors(const char* operation, std::size_t tensors, bool is_taken) noexcept;

}  // namespace tutti::horovod_adapter
