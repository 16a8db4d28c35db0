#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/spi/composite.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::horovod {

/// Inner backends among which autotune chooses. The first one exists and carries out everything; allreduces in host
/// memory go to the selected one, if it has them. The others are created when they are selected first.
class InnerSwitch final : public spi::CompositeCommunicator {
 public:
  /// `capabilities`: those of `first`. `others`: specs of backends that all ranks can use, see usable_inners().
  /// `context`: of the ranks of `first`.
  InnerSwitch(const spi::Capabilities& capabilities, std::unique_ptr<spi::BackendCommunicator> first,
              std::span<const std::string> others, const spi::CreateContext& context);

  /// Takes this inner backend from the next operation on; all ranks between the same two operations.
  void select(std::uint32_t index) noexcept {
    selected_.store(index < offers_.size() ? index : 0, std::memory_order_relaxed);
  }

 private:
  [[nodiscard]] std::size_t choose(const Operation& operation) const noexcept override;

  std::vector<spi::Capabilities> offers_;  ///< by leaf
  std::atomic<std::uint32_t> selected_ = 0;
};

/// The backends of rank 0's list ("mpi,ccl"; "all": every one that stands on no other) that all ranks can use beside
/// `base`, with their products. Collective over the ranks of `meeting`; other ranks pass any list.
[[nodiscard]] std::vector<std::string> usable_inners(const Config& config, const Rendezvous& meeting,
                                                     const spi::Peers& peers, const std::string& base,
                                                     const std::string& list);

}  // namespace tutti::horovod
