#pragma once

/// Marks the symbols of the core library that programs and modules link to; all others are hidden.
#define TUTTI_API __attribute__((visibility("default")))
