#pragma once

#include <functional>
#include <string>
#include <thread>

#include "faults/campaign/ranks/rank_report.hpp"
#include "faults/campaign/run_plan.hpp"
#include "tutti/communicator.hpp"

namespace tutti::test::campaign {

/// The exception of a culprit whose own code throws.
struct CulpritThrows {};

/// Injects the fault of the plan; used by the culprit only.
class Injection {
 public:
  /// `folder` has the reports of the other ranks.
  Injection(const RunPlan& plan, const RankReport& report, std::string folder)
      : plan_(plan), report_(report), folder_(std::move(folder)) {}
  ~Injection();
  Injection(const Injection&) = delete;
  Injection& operator=(const Injection&) = delete;

  /// Before world().
  void before_setup();
  /// Before the step at which the fault fires; may not return. The communicator is that of the step.
  void at_step(const Communicator& comm);
  /// The call of the step as the culprit makes it.
  [[nodiscard]] Case disturbed(Case call) const;

 private:
  void die();
  void fire(const Communicator& comm);
  void after_delay(std::function<void()> action);
  void fork_child(const Communicator& comm);
  void set_variable();
  /// Waits until every other rank has reported an error or its end.
  void wait_for_others() const;

  const RunPlan& plan_;
  const RankReport& report_;
  std::string folder_;
  std::thread timer_;
};

}  // namespace tutti::test::campaign
