// An observer module of another version of the interface.
#include "tutti/spi/observer_module.hpp"

namespace {
constexpr tutti::spi::ObserverModule kModule = {.abi = 999, .name = "foreign", .description = {}};
}

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &kModule; }
