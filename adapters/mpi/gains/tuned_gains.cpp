#include "gains/tuned_gains.hpp"

#include <algorithm>
#include <utility>

namespace tutti::adapters::mpi {
namespace {

/// The spec of tutti's backend on the program's MPI library, as tuning files name it; empty for one that it does not
/// know.
std::string spec_of(std::string_view library_version) {
  const auto has = [&](std::string_view text) { return library_version.find(text) != std::string_view::npos; };
  if (has("Open MPI")) return "mpi:openmpi";
  if (has("Intel(R) MPI")) return "mpi:intel";
  if (has("MPICH")) return "mpi:mpich";
  return {};
}

const TunedBackend* find(const TuningRow& row, std::string_view spec) noexcept {
  const auto found = std::ranges::find(row.backends, spec, &TunedBackend::spec);
  return found == row.backends.end() ? nullptr : &*found;
}

/// Whether the library was measured in another version than this one.
bool is_outdated(const TuningTable& table, std::string_view spec, std::string_view library_version) {
  for (const auto& [measured, version] : table.libraries)
    if (measured == spec) return version_number(version) != version_number(library_version);
  return false;
}

}  // namespace

std::uint64_t mixed(std::uint64_t key, std::string_view text) noexcept {
  for (const char letter : text) key = (key ^ static_cast<unsigned char>(letter)) * 1099511628211U;
  return (key ^ 0xffU) * 1099511628211U;
}

TunedGains::TunedGains(TuningTable table, std::string path, std::string ours, std::string theirs)
    : table_(std::move(table)),
      path_(std::move(path)),
      ours_(std::move(ours)),
      theirs_(std::move(theirs)),
      key_(mixed(mixed(mixed(kEmptyKey, to_text(table_)), ours_), theirs_)) {}

std::optional<TunedGains> TunedGains::load(const Config& config, std::string_view library_version) {
  LoadedTuning loaded = load_tuning(config);
  std::string theirs = spec_of(library_version);
  if (!loaded.table || theirs.empty() || is_outdated(*loaded.table, theirs, library_version)) return std::nullopt;
  const bool is_set = config.source("TUTTI_BACKEND") != "default";
  TunedGains gains(std::move(*loaded.table), std::move(loaded.path), is_set ? config.text("TUTTI_BACKEND") : "native",
                   std::move(theirs));
  const auto is_measured = [&](const OpTraits& row) { return gains.has(row.kind); };
  if (!std::ranges::any_of(kOpTraits, is_measured)) return std::nullopt;
  return gains;
}

bool TunedGains::has(OpKind kind) const noexcept {
  return std::ranges::any_of(table_.rows, [&](const TuningRow& row) {
    return row.op == kind && !row.on_device && find(row, ours_) != nullptr && find(row, theirs_) != nullptr;
  });
}

std::optional<bool> TunedGains::gains(OpKind kind, tutti::TypeClass types, int ranks,
                                      std::uint64_t bytes) const noexcept {
  const TuningRow* const row = table_.find(kind, false, types, ranks, bytes);
  const TunedBackend* const ours = row == nullptr ? nullptr : find(*row, ours_);
  const TunedBackend* const theirs = row == nullptr ? nullptr : find(*row, theirs_);
  if (ours == nullptr || theirs == nullptr) return std::nullopt;
  return ours->expected_us(bytes) < theirs->expected_us(bytes);
}

GainingSizes TunedGains::sizes(int ranks, const LeastSizes& least) const noexcept {
  GainingSizes sizes;
  for (const OpTraits& row : kOpTraits) {
    const std::size_t kind = GainingSizes::index(row.kind);
    for (std::size_t types = 0; types < GainingSizes::kTypes; ++types) {
      for (unsigned size = 1; size < GainingSizes::kSizes; ++size) {
        const std::uint64_t from = std::uint64_t{1} << (size - 1);
        const auto middle = from + from / 2;
        const auto measured = gains(row.kind, static_cast<tutti::TypeClass>(types), ranks, middle);
        if (measured.value_or(from >= least[kind])) sizes.bits_[kind][types] |= std::uint64_t{1} << size;
      }
    }
  }
  return sizes;
}

std::string TunedGains::describe() const { return ours_ + " against " + theirs_ + " in " + path_; }

}  // namespace tutti::adapters::mpi
