// A backend of two others: short messages go to the first, long ones to the second.
#include <array>
#include <string>
#include <vector>

#include "tutti/spi/composite.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::test {
namespace {

class BySize final : public spi::CompositeCommunicator {
 public:
  BySize(std::vector<std::unique_ptr<spi::BackendCommunicator>> leaves, int ranks, std::uint64_t limit)
      : CompositeCommunicator(std::move(leaves)), ranks_(ranks), limit_(limit) {}

 private:
  [[nodiscard]] std::size_t choose(const Operation& operation) const noexcept override {
    // Ranks of an operation with different lengths know different parts of it.
    return spi::common_bytes(operation, ranks_).value_or(0) < limit_ ? 0 : 1;
  }

  int ranks_;
  std::uint64_t limit_;
};

std::array<std::string, 2> specs_of(const Config& config) {
  const std::string& list = config.text("TUTTI_FAKE_COMPOSITE_LEAVES");
  const std::size_t comma = list.find(',');
  if (comma == std::string::npos) {
    throw Error(ErrorCode::config, "TUTTI_FAKE_COMPOSITE_LEAVES=" + list + " does not name two backends");
  }
  return {list.substr(0, comma), list.substr(comma + 1)};
}

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result;
  result.preference = -1000;
  for (const std::string& spec : specs_of(context.config)) {
    const spi::Probe leaf = spi::probe_backend(spec, context);
    result.usable = leaf.usable;
    result.reason = spec + ": " + leaf.reason;
    result.capabilities = leaf.capabilities;
    if (!leaf.usable) break;
  }
  return result;
}

extern const spi::BackendModule kModule;

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  const auto* parent = spi::parent_of<BySize>(context, kModule);
  std::vector<std::unique_ptr<spi::BackendCommunicator>> leaves;
  for (const std::string& spec : specs_of(context.config)) {
    spi::CreateContext inner = context;
    if (parent != nullptr) inner.parent = &parent->leaf(leaves.size());
    leaves.push_back(spi::create_backend(spec, inner));
  }
  return std::make_unique<BySize>(std::move(leaves), context.peers.size,
                                  context.config.bytes("TUTTI_FAKE_COMPOSITE_LIMIT"));
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_FAKE_COMPOSITE_LEAVES",
            .default_value = "native,fake_decorator:native",
            .help = "The backends for short and for long messages."},
    Setting{.name = "TUTTI_FAKE_COMPOSITE_LIMIT",
            .default_value = "1K",
            .kind = SettingKind::bytes,
            .help = "Bytes from which on a message is long."},
};

constexpr spi::BackendModule kModule = {.name = "fake_composite",
                                        .variant = {},
                                        .description = "fake that routes by size",
                                        .settings = kSettings,
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
