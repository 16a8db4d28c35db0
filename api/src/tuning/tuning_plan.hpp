#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tuning/pins.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/tuning.hpp"

namespace tutti {

/// A backend that a group could use.
struct PlanCandidate {
  std::string spec;  ///< with its product
  const spi::BackendModule* module = nullptr;
  spi::Capabilities capabilities = {};
  std::string version = {};    ///< of its library
  std::string objection = {};  ///< why it is not usable on all ranks; empty if it is

  /// Whether `spec` names this backend, with or without its product.
  [[nodiscard]] bool is_called(std::string_view other) const noexcept;
};

/// The backend for an operation, and the reason.
struct PlanChoice {
  std::size_t leaf = 0;            ///< index in TuningPlan::leaves()
  const Pin* pin = nullptr;        ///< if a pin decided
  const TuningRow* row = nullptr;  ///< if a row of the table decided
  std::size_t place = 0;           ///< in the row: of the backends that it names, the first that is usable
  std::string passed = {};         ///< pins and backends of a row that do not apply, and why
};

/// Everything that decides which backend carries out an operation of one group: pins, table, and rules where neither
/// applies. Equal on all ranks, since it is made of facts that all of them know.
class TuningPlan {
 public:
  /// The first candidate is the base, which the rules choose. Throws Error{backend_unavailable} if a pin, or with
  /// `strict` a row, names a backend that is not usable.
  TuningPlan(LoadedTuning tuning, std::vector<Pin> pins, std::vector<PlanCandidate> candidates, int ranks, bool strict);
  /// The plan of a group of some of the ranks, with the same candidates. Throws like the constructor.
  [[nodiscard]] std::shared_ptr<const TuningPlan> for_ranks(int ranks) const {
    return std::make_shared<const TuningPlan>(tuning_, pins_, candidates_, ranks, strict_);
  }
  TuningPlan(const TuningPlan&) = delete;
  TuningPlan& operator=(const TuningPlan&) = delete;

  /// The backends that operations are routed to; the first is the base.
  [[nodiscard]] const std::vector<PlanCandidate>& leaves() const noexcept { return leaves_; }
  [[nodiscard]] const LoadedTuning& tuning() const noexcept { return tuning_; }
  /// Whether a backend in a row of the table can be used.
  [[nodiscard]] bool is_usable(std::string_view spec) const { return objection(spec, candidate(spec), true).empty(); }
  /// Whether any operation goes to another backend than the base, or is composed.
  [[nodiscard]] bool routes() const noexcept { return routes_; }

  /// The leaf for an operation; on the path of every call.
  [[nodiscard]] std::size_t leaf_of(const Operation& operation) const noexcept {
    const Segment* const segment = plain_segment(operation);
    if (segment == nullptr) [[unlikely]]
      return other_route_of(operation).leaf;
    return segment->route.leaf;
  }
  /// How that leaf carries the operation out.
  [[nodiscard]] Composition composition_of(const Operation& operation) const noexcept {
    const Segment* const segment = plain_segment(operation);
    return segment != nullptr ? segment->route.composition : other_route_of(operation).composition;
  }
  /// Whether the leaf carries any operation out by others.
  [[nodiscard]] bool composes(std::size_t leaf) const noexcept { return composing_[leaf]; }

  /// The choice for a message size, with the reason.
  [[nodiscard]] PlanChoice choose(OpKind op, bool on_device, DataType type, Reduction reduction,
                                  std::uint64_t bytes) const;

 private:
  struct Route {
    std::size_t leaf = 0;
    Composition composition = Composition::none;

    friend bool operator==(const Route&, const Route&) = default;
  };
  /// A range of counts, as the operation has them, with one route.
  struct Segment {
    std::uint64_t end = kNoLimit;  ///< exclusive; no operation reaches kNoLimit
    Route route = {};
  };
  /// The segments of an operation and type on host memory. `plain`: one bit per reduction for which they hold without a
  /// closer look.
  struct Path {
    const Segment* first = nullptr;
    std::uint64_t plain = 0;
  };
  static_assert(kOpKindCount <= 16 && kDataTypeCount <= 16);
  [[nodiscard]] static constexpr std::size_t path_index(OpKind op, DataType type) noexcept {
    return static_cast<unsigned>(op) << 4 | static_cast<unsigned>(type);
  }

  /// The segment of an operation; null where it needs a closer look.
  [[nodiscard]] const Segment* plain_segment(const Operation& operation) const noexcept {
    const Path& path = paths_[path_index(operation.kind, operation.type)];
    const bool is_plain = operation.where.kind == MemoryKind::host &&
                          (path.plain >> static_cast<unsigned>(operation.reduction) & 1u) != 0 &&
                          std::bit_cast<std::uint64_t>(operation.prescale) == std::bit_cast<std::uint64_t>(1.0);
    if (!is_plain) [[unlikely]]
      return nullptr;
    const Segment* segment = path.first;
    while (operation.count >= segment->end) [[unlikely]]++ segment;
    return segment;
  }

  struct Decision {
    const Pin* pin = nullptr;
    const TuningRow* row = nullptr;
    std::size_t place = 0;
  };
  static constexpr std::size_t kNotUsable = ~std::size_t{0};

  [[nodiscard]] Route other_route_of(const Operation& operation) const noexcept;
  [[nodiscard]] Route route_for(OpKind op, bool on_device, DataType type, Reduction reduction, std::uint64_t bytes,
                                Decision* why) const noexcept;
  /// Whether an operation with this route is carried out otherwise than by the base itself; notes its composition.
  [[nodiscard]] bool is_routed(const Route& route);
  [[nodiscard]] const PlanCandidate* candidate(std::string_view spec) const noexcept;
  [[nodiscard]] std::string objection(std::string_view spec, const PlanCandidate* found, bool from_table) const;
  void require_usable() const;
  void collect_leaves();
  void make_path(OpKind op, DataType type);
  /// Fills the segments of a path and returns its `plain`; notes whether any of them is_routed().
  [[nodiscard]] std::uint64_t fill_path(OpKind op, bool on_device, DataType type, std::vector<Segment>& segments);
  [[nodiscard]] std::vector<std::uint64_t> limits_of(OpKind op, bool on_device, TypeClass types) const;

  LoadedTuning tuning_;
  std::vector<Pin> pins_;
  std::vector<PlanCandidate> candidates_;
  std::vector<PlanCandidate> leaves_;
  std::vector<std::size_t> pin_leaves_;
  std::vector<std::vector<std::size_t>> row_leaves_;  ///< by row of the table, then by place in the row
  int ranks_;
  bool strict_;
  bool routes_ = false;
  std::vector<bool> composing_;                 ///< by leaf
  std::vector<std::vector<Segment>> segments_;  ///< of the paths
  std::array<Path, 256> paths_ = {};
};

}  // namespace tutti
