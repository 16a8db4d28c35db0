#include <array>

#include "horovod_backend.hpp"
#include "settings/horovod_settings.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::horovod {
namespace {

extern const spi::BackendModule kModule;

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result = spi::probe_backend(context.rest, context);
  result.preference = -100;
  result.product.clear();
  result.capabilities = host_capabilities(result.capabilities);
  return result;
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  spi::CreateContext inner = context;
  if (const auto* parent = spi::parent_of<HorovodCommunicator>(context, kModule)) inner.parent = &parent->inner();
  auto backend = spi::create_backend(context.rest, inner);
  const spi::Capabilities capabilities = host_capabilities(backend->capabilities());
  return std::make_unique<HorovodCommunicator>(context, std::move(backend), capabilities);
}

std::vector<spi::ForeignVariable> variables() {
  std::vector<spi::ForeignVariable> variables;
  for (const HorovodListing& line : list_horovod_variables()) {
    variables.push_back({.name = std::string(line.variable->name),
                         .value = line.value,
                         .is_set = line.is_set,
                         .default_value = std::string(line.variable->default_value),
                         .help = std::string(line.variable->help),
                         .note = line.note == line.variable->help ? "" : line.note});
  }
  return variables;
}

constexpr std::array kSettings = {
    Setting{.name = "TUTTI_HOROVOD_PIECE",
            .default_value = "1M",
            .kind = SettingKind::bytes,
            .help = "Longest operation of the inner backend for a fused allreduce, so that the fusion buffer stays in "
                    "the cache; a longer tensor is an operation of its own. 0: one operation.",
            .common = true},
    Setting{.name = "TUTTI_HOROVOD_PARTITION",
            .default_value = "0",
            .kind = SettingKind::bytes,
            .help =
                "Cuts larger tensors of allreduces into parts of this size; after about as many bytes the ranks look "
                "for tensors of higher priority, which go first. 0: all that is ready is processed before. BytePS "
                "has 4M.",
            .common = true},
    Setting{.name = "TUTTI_HOROVOD_PRIORITY",
            .default_value = "given",
            .kind = SettingKind::choice,
            .help = "Order of tensors that are ready: given by the program (TensorOptions::priority), or layers: those "
                    "that became ready last in the first step go first, as the first layers in a backward pass.",
            .choices = "given|layers",
            .common = true},
    Setting{
        .name = "TUTTI_HOROVOD_TUNED",
        .default_value = "",
        .help =
            "Where autotune's best values are kept: a file, or the word tuning for the engine's entry in the tuning "
            "file. With HOROVOD_AUTOTUNE=1 rank 0 writes there, otherwise all ranks use the values. Default: an "
            "entry of the tuning file is used, none is written."},
    Setting{.name = "TUTTI_HOROVOD_RETUNE",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "With HOROVOD_AUTOTUNE=1: searches again when the bytes per step have changed by a quarter."},
    Setting{.name = "TUTTI_HOROVOD_TUNE_PARTITION",
            .default_value = "0",
            .kind = SettingKind::flag,
            .help = "With HOROVOD_AUTOTUNE=1: after the switches tries TUTTI_HOROVOD_PARTITION of 4M and 16M as well, "
                    "unless it is set."},
    Setting{.name = "TUTTI_HOROVOD_TUNE_INNER",
            .default_value = "",
            .help = "With HOROVOD_AUTOTUNE=1: inner backends to try for allreduces in host memory beside the own one, "
                    "separated by commas, of which those are taken that all ranks can use; all: every one."},
    Setting{.name = "TUTTI_HOROVOD_LOG_COLUMNS",
            .default_value = "7",
            .kind = SettingKind::choice,
            .help =
                "Columns of HOROVOD_AUTOTUNE_LOG: 7 as Horovod 0.26 and later, 6 as before, 9 with the size of parts "
                "(MB) and the inner backend.",
            .choices = "7|6|9"},
};

constexpr spi::BackendModule kModule = {.name = "horovod",
                                        .variant = {},
                                        .description = "Horovod-compatible engine over another backend",
                                        .settings = kSettings,
                                        .nests = true,
                                        .probe = probe,
                                        .create = create,
                                        .foreign_variables = variables};

}  // namespace
}  // namespace tutti::horovod

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::horovod::kModule; }
