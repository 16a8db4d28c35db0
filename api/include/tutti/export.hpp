#pragma once

/// Symbols of the core library that programs and modules link to; everything else is hidden.
#define TUTTI_API __attribute__((visibility("default")))
