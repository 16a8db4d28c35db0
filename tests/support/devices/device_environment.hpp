#pragma once

#include <cstdlib>

/// Included by the one source file of a test program: tells the library and the loaders of vendors where the fakes are,
/// before anything is opened. Modules of the library are found in any case.
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
