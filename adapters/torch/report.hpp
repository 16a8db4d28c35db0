#pragma once

namespace tutti::torch_adapter {

/// With TUTTI_SHOW=1 the process of rank 0 prints its operations when it exits. Called before each communicator is
/// made. Throws Error{config} for a value of the variable that is no flag.
void begin_report();

}  // namespace tutti::torch_adapter
