#include "job.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "late_tensors.hpp"
#include "report.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::horovod_adapter {
namespace {

/// Upstream's rule for switches: a number above 0.
bool is_switched_on(const char* variable) {
  const std::optional<std::string> text = spi::environment(variable);
  return text && std::strtol(text->c_str(), nullptr, 10) > 0;
}

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::invalid_argument, text, "horovod"); }

/// An engine of some ranks, in the order of the list. Collective over all ranks, each with the list of its own group.
horovod::Engine part_of(const horovod::Engine& all, std::span<const int> ranks) {
  const auto own = std::ranges::find(ranks, all.rank());
  const bool is_member = own != ranks.end();
  const Communicator part = all.communicator().split(is_member ? *std::ranges::min_element(ranks) : -1,
                                                     static_cast<int>(own - ranks.begin()), "horovod");
  if (!is_member) refuse("rank " + std::to_string(all.rank()) + " is not in its own list of ranks");
  if (static_cast<std::size_t>(part.size()) != ranks.size()) {
    refuse("the list of rank " + std::to_string(all.rank()) + " has " + std::to_string(ranks.size()) + " ranks, but " +
           std::to_string(part.size()) + " ranks gave such a list");
  }
  return horovod::Engine(part);
}

}  // namespace

Job& Job::instance() {
  static auto* only = new Job;
  return *only;
}

Job::Use::Use(Job& job) : lock_(job.mutex_, std::try_to_lock) {
  if (lock_) engine_ = job.engine_;
}

void Job::begin(std::span<const int> ranks, std::span<const std::vector<int>> process_sets) {
  const std::unique_lock lock(mutex_);
  if (engine_) return;
  has_dynamic_sets_ = is_switched_on("HOROVOD_DYNAMIC_PROCESS_SETS");
  has_timeline_ = spi::environment("HOROVOD_TIMELINE").has_value();
  horovod::init();
  try {
    horovod::Engine engine = horovod::engine();
    if (!ranks.empty()) engine = part_of(engine, ranks);
    for (const std::vector<int>& set : process_sets)
      if (find_process_set(engine, set) < 0) (void)engine.add_process_set(set);
    begin_report(engine.rank(), std::string(engine.communicator().backend()));
    engine_ = std::move(engine);
  } catch (...) {
    horovod::shutdown();
    throw;
  }
  LateTensors::instance().open();
}

void Job::end() {
  is_ending_ = true;
  LateTensors::instance().close();
  {
    const std::unique_lock lock(mutex_);
    if (engine_) {
      {
        const std::scoped_lock results(results_mutex_);
        for (const auto& result : std::exchange(results_, {})) result->release();
      }
      engine_.reset();
      horovod::shutdown();
    }
  }
  is_ending_ = false;
}

void Job::keep(std::shared_ptr<Result> result) {
  const std::scoped_lock lock(results_mutex_);
  std::erase_if(results_, [](const auto& kept) {
    const bool is_over = kept->is_over();
    if (is_over) kept->release();  // the engine's callback has it as well
    return is_over;
  });
  results_.push_back(std::move(result));
}

int find_process_set(const horovod::Engine& engine, std::vector<int> ranks) {
  std::ranges::sort(ranks);
  for (const int id : engine.process_sets())
    if (engine.process_set_ranks(id) == ranks) return id;
  return -1;
}

}  // namespace tutti::horovod_adapter
