// An observer module that cannot start.
#include "tutti/error.hpp"
#include "tutti/spi/observer_module.hpp"

namespace {
constexpr tutti::spi::ObserverModule kModule = {
    .name = "refusing", .description = "fake that refuses", .start = [](const tutti::Config&) {
      throw tutti::Error(tutti::ErrorCode::backend_unavailable, "the imaginary recorder is not there");
    }};
}

extern "C" TUTTI_API const tutti::spi::ObserverModule* tutti_observer_module() { return &kModule; }
