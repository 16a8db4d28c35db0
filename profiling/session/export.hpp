#pragma once

/// Marks the symbols of the recorder's library that sources use.
#define TUTTI_PROFILING_API __attribute__((visibility("default")))
