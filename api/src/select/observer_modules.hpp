#pragma once

#include <string>

#include "tutti/config.hpp"

namespace tutti {

/// Opens and starts the modules that TUTTI_OBSERVERS names; the first call of the process counts. A module that is
/// absent or wrong is passed over, as `tutti info` shows: whoever sets the variable for a job does not know all of its
/// programs, and watching must not end them. Throws Error{config} for a name that cannot be the name of a module.
void start_observer_modules(const Config& config);

/// Opens and starts this module, unless it was started before. Returns whether it runs.
bool start_observer_module(const std::string& name);

}  // namespace tutti
