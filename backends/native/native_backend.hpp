#pragma once

#include "tutti/spi/module.hpp"

/// The built-in backend: shared memory between the processes or threads of one host.
extern "C" const tutti::spi::BackendModule* tutti_backend_native_module();
