#pragma once

#include "base/table.hpp"

namespace tutti::tools {

using base::Align;
using base::pad;
using base::Table;

}  // namespace tutti::tools
