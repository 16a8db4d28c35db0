#pragma once

namespace tutti::nccl_adapter {

/// With TUTTI_SHOW=1: counts the operations of this process from now on and prints them when it exits, if it has rank 0
/// of the first communicator. Called before each communicator is made; only the first call has an effect. Throws
/// Error{config} for a value of the variable that is no flag.
void begin_report();

}  // namespace tutti::nccl_adapter
