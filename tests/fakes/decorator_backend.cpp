// A backend that stands on another one and passes everything on to it, as `fake_decorator:SPEC`.
#include "tutti/spi/nested.hpp"

namespace tutti::test {
namespace {

class Decorator final : public spi::ForwardingCommunicator {
 public:
  explicit Decorator(std::unique_ptr<spi::BackendCommunicator> inner) : ForwardingCommunicator(std::move(inner)) {}
  using ForwardingCommunicator::inner;
};

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result = spi::probe_backend(context.rest, context);
  result.preference = -1000;
  result.product.clear();
  return result;
}

extern const spi::BackendModule kModule;

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  spi::CreateContext inner = context;
  if (const auto* parent = spi::parent_of<Decorator>(context, kModule)) inner.parent = &parent->inner();
  return std::make_unique<Decorator>(spi::create_backend(context.rest, inner));
}

constexpr spi::BackendModule kModule = {.name = "fake_decorator",
                                        .variant = {},
                                        .description = "fake that passes everything on to another backend",
                                        .nests = true,
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
