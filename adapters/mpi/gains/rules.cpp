#include "gains/rules.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::adapters::mpi {
namespace {

struct Gain {
  OpKind kind;
  std::uint64_t least;
};

// Sizes from which the native engine was faster than Open MPI, MPICH and Intel MPI; see README.md.
constexpr std::array kGains = {
    Gain{OpKind::allreduce, 64 << 10},       Gain{OpKind::reduce, 64 << 10},     Gain{OpKind::reduce_scatter, 64 << 10},
    Gain{OpKind::reduce_scatterv, 64 << 10}, Gain{OpKind::broadcast, 256 << 10}, Gain{OpKind::allgather, 256 << 10},
    Gain{OpKind::allgatherv, 256 << 10},
};

// The same for a non-blocking allreduce and its wait. A wait of Open MPI keeps the core that the thread of the call
// needs.
constexpr std::uint64_t kLeastIssuedOpenMpi = 32 << 20;
constexpr std::uint64_t kLeastIssuedIntelMpi = 1 << 20;

OpKind parse_operation(std::string_view word) {
  const std::optional<OpKind> kind = parse_op_kind(word);
  if (kind && !is_message(*kind)) return *kind;
  std::string names;
  for (const OpTraits& row : kOpTraits) {
    if (!is_message(row.kind)) names += std::string(names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::config, "TUTTI_PRELOAD_OPS names the operation \"" + spi::printable(word) +
                                     "\", which is unknown; accepted: auto, all, or of " + names);
}

/// Nothing for auto.
std::optional<std::uint64_t> parse_least(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const std::optional<std::uint64_t> bytes = parse_bytes(text);
  if (!bytes)
    throw Error(ErrorCode::config,
                "TUTTI_PRELOAD_MIN=" + spi::printable(text) + " is no size; accepted: auto, 512, 64K, 1M");
  return bytes;
}

}  // namespace

Rules::Rules() noexcept { least_.fill(kNever); }

Rules::Rules(const Config& config) : Rules() {
  std::string_view ops = config.text("TUTTI_PRELOAD_OPS");
  key_ = kEmptyKey;
  for (const char* name : {"TUTTI_PRELOAD", "TUTTI_PRELOAD_OPS", "TUTTI_PRELOAD_MIN", "TUTTI_PRELOAD_AFTER",
                           "TUTTI_SHOW", "TUTTI_BACKEND"})
    key_ = mixed(key_, config.text(name));
  after_ = config.integer("TUTTI_PRELOAD_AFTER");
  shows_ = config.flag("TUTTI_SHOW");
  if (!config.flag("TUTTI_PRELOAD")) return;
  const std::optional<std::uint64_t> least = parse_least(config.text("TUTTI_PRELOAD_MIN"));
  if (ops == "auto") {
    wants_table_ = !least;
    for (const Gain& gain : kGains) least_[static_cast<std::size_t>(gain.kind)] = least.value_or(gain.least);
    return;
  }
  const auto take = [&](OpKind kind) {
    const auto index = static_cast<std::size_t>(kind);
    if (is_unsized(kind)) {
      takes_unsized_[index] = true;
    } else {
      least_[index] = least.value_or(0);
    }
  };
  if (ops == "all") {
    for (const OpTraits& row : kOpTraits)
      if (!is_message(row.kind)) take(row.kind);
    return;
  }
  while (!ops.empty()) {
    const std::string_view word = ops.substr(0, ops.find(','));
    ops.remove_prefix(std::min(ops.size(), word.size() + 1));
    take(parse_operation(word));
  }
}

void Rules::set_library(std::string_view version) noexcept {
  const auto has = [&](std::string_view text) { return version.find(text) != std::string_view::npos; };
  least_issued_ = has("Open MPI") ? kLeastIssuedOpenMpi : has("Intel(R) MPI") ? kLeastIssuedIntelMpi : 0;
}

void Rules::adopt(TunedGains gains) {
  key_ = mixed(key_, std::to_string(gains.key()));
  for (const OpTraits& row : kOpTraits) is_tuned_[static_cast<std::size_t>(row.kind)] = gains.has(row.kind);
  tuned_ = std::move(gains);
}

std::string Rules::describe_sizes() const {
  if (tuned_) return "by the times of " + tuned_->describe();
  return wants_table_ ? "built in; no tuning file has measured this MPI library and the backend" : "set by variables";
}

}  // namespace tutti::adapters::mpi
