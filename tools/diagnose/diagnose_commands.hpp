#pragma once

#include "command.hpp"

namespace tutti::tools {

/// As in command.hpp: the commands that look at running jobs.
void add_ps_command(CLI::App& tutti, Invocation& invocation);
void add_doctor_command(CLI::App& tutti, Invocation& invocation);

}  // namespace tutti::tools
