#include "tuning/tuning_plan.hpp"

#include <algorithm>

#include "tuning/composed_steps.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti {
namespace {

/// Bytes of a message per element of Operation::count; 0 where the count alone does not tell them.
std::uint64_t unit_of(OpKind op, DataType type, int ranks) noexcept {
  const OpTraits& row = traits(op);
  if (is_message(op) || is_vector(op)) return 0;
  const bool several = row.input == Extent::blocks || row.output == Extent::blocks;
  return size_of(type) * (several ? static_cast<std::uint64_t>(ranks) : 1);
}

/// Whether a backend can carry out an operation itself. Without this question a row of another type or reduction of the
/// same class would make tutti emulate what the base has.
bool takes(const PlanCandidate& candidate, OpKind op, DataType type, Reduction reduction,
           Composition composition = Composition::none) noexcept {
  Operation operation;
  operation.kind = op;
  operation.type = type;
  operation.reduction = reduction;
  return takes_composed(candidate.capabilities, composition, operation);
}

}  // namespace

bool PlanCandidate::is_called(std::string_view other) const noexcept {
  return spec == other || (spec.starts_with(other) && spec[other.size()] == ':');
}

TuningPlan::TuningPlan(LoadedTuning tuning, std::vector<Pin> pins, std::vector<PlanCandidate> candidates, int ranks,
                       bool strict)
    : tuning_(std::move(tuning)),
      pins_(std::move(pins)),
      candidates_(std::move(candidates)),
      ranks_(ranks),
      strict_(strict) {
  require_usable();
  collect_leaves();
  composing_.resize(leaves_.size());
  for (const OpTraits& row : kOpTraits) {
    for (const DataType type : kDataTypes) {
      make_path(row.kind, type);
    }
  }
}

const PlanCandidate* TuningPlan::candidate(std::string_view spec) const noexcept {
  const auto found = std::ranges::find_if(candidates_, [&](const PlanCandidate& one) { return one.is_called(spec); });
  return found == candidates_.end() ? nullptr : &*found;
}

std::string TuningPlan::objection(std::string_view spec, const PlanCandidate* found, bool from_table) const {
  if (found == nullptr) return std::string(spec) + " is no backend of this installation";
  if (!found->objection.empty()) return std::string(spec) + " is not usable: " + found->objection;
  if (!from_table) return {};
  const auto& libraries = tuning_.table->libraries;
  const auto measured = std::ranges::find(libraries, spec, &std::pair<std::string, std::string>::first);
  if (measured == libraries.end()) return {};
  const std::string_view then = version_number(measured->second);
  const std::string_view now = version_number(found->version);
  if (then.empty() || now.empty() || then == now) return {};
  return std::string(spec) + " was measured in version " + std::string(then) + ", this is " + std::string(now);
}

void TuningPlan::require_usable() const {
  for (const Pin& pin : pins_) {
    if (const std::string why = objection(pin.spec, candidate(pin.spec), false); !why.empty()) {
      throw Error(ErrorCode::backend_unavailable, "TUTTI_PIN has '" + pin.text + "', but " + why, pin.spec);
    }
  }
  if (!strict_ || !tuning_.table) return;
  for (const TuningRow& row : tuning_.table->rows) {
    if (ranks_ < row.ranks_from || ranks_ > row.ranks_to) continue;
    const std::string& spec = row.backends.front().spec;
    if (const std::string why = objection(spec, candidate(spec), true); !why.empty()) {
      throw Error(ErrorCode::backend_unavailable,
                  "the tuning file " + tuning_.path + " names " + spec + " for " + std::string(name(row.op)) +
                      ", but " + why + "; TUTTI_STRICT allows no other backend in its place",
                  spec);
    }
  }
}

void TuningPlan::collect_leaves() {
  leaves_.push_back(candidates_.front());
  const auto leaf_of = [&](const PlanCandidate* found) {
    const auto known = std::ranges::find(leaves_, found->spec, &PlanCandidate::spec);
    const auto index = static_cast<std::size_t>(known - leaves_.begin());
    if (known == leaves_.end()) leaves_.push_back(*found);
    return index;
  };
  for (const Pin& pin : pins_) pin_leaves_.push_back(leaf_of(candidate(pin.spec)));
  if (!tuning_.table) return;
  for (const TuningRow& row : tuning_.table->rows) {
    std::vector<std::size_t>& places = row_leaves_.emplace_back(row.backends.size(), kNotUsable);
    if (ranks_ < row.ranks_from || ranks_ > row.ranks_to) continue;
    for (std::size_t place = 0; place < places.size(); ++place) {
      const PlanCandidate* found = candidate(row.backends[place].spec);
      if (objection(row.backends[place].spec, found, true).empty()) places[place] = leaf_of(found);
    }
  }
}

TuningPlan::Route TuningPlan::route_for(OpKind op, bool on_device, DataType type, Reduction reduction,
                                        std::uint64_t bytes, Decision* why) const noexcept {
  for (std::size_t i = 0; i < pins_.size(); ++i) {
    if (!pins_[i].covers(op, bytes) || !takes(leaves_[pin_leaves_[i]], op, type, reduction)) continue;
    if (why != nullptr) why->pin = &pins_[i];
    return {.leaf = pin_leaves_[i]};
  }
  const TuningRow* row =
      tuning_.table ? tuning_.table->find(op, on_device, type_class(op, type), ranks_, bytes) : nullptr;
  if (row == nullptr) return {};
  const auto& places = row_leaves_[static_cast<std::size_t>(row - tuning_.table->rows.data())];
  for (std::size_t place = 0; place < places.size(); ++place) {
    const Composition composition = row->backends[place].composition;
    if (places[place] == kNotUsable || !takes(leaves_[places[place]], op, type, reduction, composition)) continue;
    if (why != nullptr) *why = {.row = row, .place = place};
    return {.leaf = places[place], .composition = composition};
  }
  return {};
}

bool TuningPlan::is_routed(const Route& route) {
  if (route.composition != Composition::none) composing_[route.leaf] = true;
  return route != Route{};
}

std::vector<std::uint64_t> TuningPlan::limits_of(OpKind op, bool on_device, TypeClass types) const {
  std::vector<std::uint64_t> limits = {0};
  for (const Pin& pin : pins_) {
    if (pin.op != op) continue;
    limits.push_back(pin.from);
    if (pin.to != kNoLimit) limits.push_back(pin.to + 1);
  }
  if (tuning_.table) {
    for (const TuningRow& row : tuning_.table->rows) {
      if (row.op != op || row.on_device != on_device || row.types != types) continue;
      limits.push_back(row.from);
      if (row.to != kNoLimit) limits.push_back(row.to);
    }
  }
  std::ranges::sort(limits);
  const auto repeated = std::ranges::unique(limits);
  limits.erase(repeated.begin(), repeated.end());
  return limits;
}

void TuningPlan::make_path(OpKind op, DataType type) {
  // Operations on device memory have time for a longer look.
  std::vector<Segment> on_device;
  (void)fill_path(op, true, type, on_device);
  std::vector<Segment> segments;
  Path& path = paths_[path_index(op, type)];
  path.plain = fill_path(op, false, type, segments);
  segments_.push_back(std::move(segments));
  path.first = segments_.back().data();
}

std::uint64_t TuningPlan::fill_path(OpKind op, bool on_device, DataType type, std::vector<Segment>& segments) {
  std::uint64_t plain = ~std::uint64_t{0};
  const std::vector<std::uint64_t> limits = limits_of(op, on_device, type_class(op, type));
  const auto route_at = [&](std::uint64_t bytes, Reduction reduction) {
    return route_for(op, on_device, type, reduction, bytes, nullptr);
  };
  const std::uint64_t unit = unit_of(op, type, ranks_);
  if (unit == 0) {
    // Ranks of a message, or of an operation with other lengths on each rank, do not all know its size, unless all of
    // them have all lengths.
    segments.push_back({});
    if (!has_common_counts(op)) return plain;
    for (const Reduction one : kReductions) {
      if (one != Reduction::sum && !traits(op).reduces) break;
      for (const std::uint64_t bytes : limits) routes_ = is_routed(route_at(bytes, one)) || routes_;
    }
    return 0;
  }
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Route route = route_at(limits[i], Reduction::sum);
    routes_ = is_routed(route) || routes_;
    for (std::size_t r = 0; r < kReductionCount && traits(op).reduces; ++r) {
      const Route other = route_at(limits[i], static_cast<Reduction>(r));
      if (other != route) plain &= ~(std::uint64_t{1} << r);
      routes_ = is_routed(other) || routes_;
    }
    // A count reaches a limit in bytes when it is at least the limit in elements, rounded up.
    const bool is_last = i + 1 == limits.size();
    const std::uint64_t end = is_last ? kNoLimit : limits[i + 1] / unit + (limits[i + 1] % unit != 0 ? 1 : 0);
    if (!segments.empty() && segments.back().route == route) {
      segments.back().end = end;
    } else {
      segments.push_back({end, route});
    }
  }
  return plain;
}

TuningPlan::Route TuningPlan::other_route_of(const Operation& operation) const noexcept {
  const auto bytes = is_message(operation.kind) ? std::nullopt : spi::common_bytes(operation, ranks_);
  if (!bytes) return {};
  const Route route = route_for(operation.kind, operation.where.kind != MemoryKind::host, operation.type,
                                operation.reduction, *bytes, nullptr);
  const spi::Capabilities& has = leaves_[route.leaf].capabilities;
  if (takes_composed(has, route.composition, operation)) return route;
  return {.leaf = has.takes(operation) ? route.leaf : 0};
}

PlanChoice TuningPlan::choose(OpKind op, bool on_device, DataType type, Reduction reduction,
                              std::uint64_t bytes) const {
  PlanChoice choice;
  if (unit_of(op, type, ranks_) == 0 && !has_common_counts(op)) return choice;
  Decision why;
  choice.leaf = route_for(op, on_device, type, reduction, bytes, &why).leaf;
  choice.pin = why.pin;
  choice.row = why.row;
  choice.place = why.place;
  const auto pass = [&](const std::string& reason) { choice.passed += (choice.passed.empty() ? "" : "; ") + reason; };
  for (const Pin& pin : pins_) {
    if (&pin == why.pin) return choice;
    if (pin.covers(op, bytes))
      pass("the pin " + pin.text + " does not apply, since " + pin.spec + " lacks the operation");
  }
  const TuningRow* row =
      tuning_.table ? tuning_.table->find(op, on_device, type_class(op, type), ranks_, bytes) : nullptr;
  if (row == nullptr) return choice;
  for (std::size_t place = 0; place < (why.row != nullptr ? why.place : row->backends.size()); ++place) {
    const std::string& spec = row->backends[place].spec;
    const std::string reason = objection(spec, candidate(spec), true);
    if (!reason.empty()) {
      pass(reason);
    } else {
      const bool is_composed = row->backends[place].composition != Composition::none;
      pass(spec + (is_composed ? " lacks a part of the composition" : " lacks the operation"));
    }
  }
  return choice;
}

}  // namespace tutti
