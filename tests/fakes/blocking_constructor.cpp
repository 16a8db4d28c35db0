// A library whose constructor blocks.
#include "fakes/blocking_library.hpp"

namespace {

[[gnu::constructor]] void construct() { blocking_in_constructor(); }

}  // namespace
