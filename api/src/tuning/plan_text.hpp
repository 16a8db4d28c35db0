#pragma once

#include <string>

#include "tuning/tuning_plan.hpp"
#include "tutti/communicator.hpp"

namespace tutti {

/// The question that explain() answers.
struct PlanQuestion {
  OpKind op = OpKind::allreduce;
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  std::uint64_t bytes = 0;
  bool on_device = false;
};

/// The plan's answer: backend, reason, expected times. `rule`: why the base was chosen.
[[nodiscard]] Explanation explain_choice(const TuningPlan& plan, const PlanQuestion& question, const std::string& rule);

/// Adds how a backend with these capabilities carries an operation out if its library lacks it.
void note_emulation(const Operation& operation, const spi::Capabilities& has, Explanation& answer);

}  // namespace tutti
