#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tutti/export.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::spi {

/// Base of communicators that pass each operation to one of several others, their leaves. A derived class only
/// chooses. The leaves progress together: a wait for an operation of one of them also progresses the pending operations
/// of the others, on which a peer may depend. The first failure of a leaf ends all of them.
class TUTTI_API CompositeCommunicator : public BackendCommunicator {
 public:
  ~CompositeCommunicator() override;

  [[nodiscard]] std::size_t leaves() const noexcept { return leaves_.size(); }
  /// A leaf as it was given to the constructor, e.g. as the parent of a leaf of a new communicator.
  [[nodiscard]] BackendCommunicator& leaf(std::size_t index) const noexcept;

 protected:
  /// At least one leaf, all over the same ranks.
  explicit CompositeCommunicator(std::vector<std::unique_ptr<BackendCommunicator>> leaves);

 private:
  class Leaf;
  struct Shared;

  /// Index of the leaf for an operation: the same on all ranks, see common_bytes().
  [[nodiscard]] virtual std::size_t choose(const Operation& operation) const noexcept = 0;

  BackendCommunicator& do_route(const Operation& operation) final;
  void do_run(const Operation& operation) final;
  bool do_may_reach(const Operation& operation) const final;
  bool do_reaches(const Operation& operation) final;
  std::unique_ptr<PendingOperation> do_start(const Operation& operation) final;
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) final;
  void do_abort() noexcept final;
  [[nodiscard]] bool do_needs_watch() const noexcept final;
  bool do_interrupt(const Error& cause) noexcept final;
  void do_close() noexcept final;

  std::unique_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Leaf>> leaves_;
};

}  // namespace tutti::spi
