#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "process_sets.hpp"
#include "tutti/spi/module.hpp"
#include "tutti/spi/tensors/named_engine.hpp"

namespace tutti::horovod {

/// Takes named tensors in for the process sets of a communicator.
class NamedFront final : public spi::NamedEngine {
 public:
  /// `sets` outlives it.
  NamedFront(ProcessSets& sets, const spi::Peers& peers);

  std::vector<std::shared_ptr<spi::NamedWork>> enqueue(std::vector<spi::NamedTensor> tensors) override;
  int add_process_set(std::span<const int> ranks) override { return sets_.add(ranks); }
  void remove_process_set(int id) override { sets_.remove(id); }
  std::vector<int> process_sets() const override { return sets_.ids(); }
  std::vector<int> process_set_ranks(int id) const override { return sets_.ranks(id); }
  spi::LocalPosition position() const override { return position_; }
  void start_timeline(const std::string& path, bool marks_cycles) override;
  void stop_timeline() override;
  spi::TuningState tuning() const override;
  std::string stall_warning() const override { return sets_.stall_warning(); }

 private:
  class Work;

  static void place(SetEngine& engine, Entry& entry);
  [[nodiscard]] EntryPointer make_entry(spi::NamedTensor tensor, std::size_t set_size) const;

  ProcessSets& sets_;
  spi::LocalPosition position_;
};

}  // namespace tutti::horovod
