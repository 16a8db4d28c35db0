// A valid module whose library is never installed.
#include "tutti/spi/module.hpp"

namespace {

tutti::spi::Probe probe(const tutti::spi::ProbeContext&) {
  tutti::spi::Probe result;
  result.reason = "libimaginary.so.7 is not installed";
  result.preference = 1'000'000;
  return result;
}

std::unique_ptr<tutti::spi::BackendCommunicator> create(const tutti::spi::CreateContext&) { return nullptr; }

constexpr tutti::spi::BackendModule kModule = {
    .name = "refusing", .variant = {}, .description = "fake that is never usable", .probe = probe, .create = create};

}  // namespace

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &kModule; }
