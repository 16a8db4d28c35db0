#pragma once

#include <cstdlib>

/// Include this in exactly one source file of a test program. It points the library and the vendors' loaders to the
/// fakes, in static initialisers, before any library is opened. The library finds its own modules without it.
namespace tutti::test {
namespace {

#ifdef TUTTI_TEST_MODULES
const int modules_told = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT
#endif
#ifdef TUTTI_TEST_LEVEL_ZERO_DRIVER
const int level_zero_told = setenv("ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER, 1);  // NOLINT
#endif
#ifdef TUTTI_TEST_CUDA_LIBRARY
const int cuda_told = setenv("TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY, 1);  // NOLINT
#endif

}  // namespace
}  // namespace tutti::test
