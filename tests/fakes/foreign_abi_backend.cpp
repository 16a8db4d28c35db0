// A module built for another version of the interface: the library may read its ABI number only.
#include "tutti/spi/module.hpp"

namespace {
constexpr tutti::spi::BackendModule kModule = {
    .abi = 999, .name = "foreign_abi", .variant = {}, .description = "fake of another interface version"};
}

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &kModule; }
