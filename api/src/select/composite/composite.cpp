#include "tutti/spi/composite.hpp"

#include <algorithm>
#include <utility>

#include "select/composite/composite_leaf.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/pending_group.hpp"

namespace tutti::spi {

namespace {

Capabilities common_capabilities(std::span<const std::unique_ptr<BackendCommunicator>> leaves) {
  Capabilities common = leaves.front()->capabilities();
  for (const auto& leaf : leaves.subspan(1)) common = common & leaf->capabilities();
  return common;
}

}  // namespace

CompositeCommunicator::CompositeCommunicator(std::vector<std::unique_ptr<BackendCommunicator>> leaves)
    : BackendCommunicator(common_capabilities(leaves)), shared_(std::make_unique<Shared>(*this)) {
  for (auto& leaf : leaves) leaves_.push_back(std::make_unique<Leaf>(*this, std::move(leaf)));
  take_all_into_use();
}

CompositeCommunicator::CompositeCommunicator(const Capabilities& capabilities,
                                             std::unique_ptr<BackendCommunicator> first, std::vector<LateLeaf> later,
                                             const Rendezvous& rendezvous)
    : BackendCommunicator(capabilities), shared_(std::make_unique<Shared>(*this)) {
  leaves_.push_back(std::make_unique<Leaf>(*this, std::move(first)));
  for (LateLeaf& leaf : later) leaves_.push_back(std::make_unique<Leaf>(*this, std::move(leaf), rendezvous));
  take_all_into_use();
}

void CompositeCommunicator::take_all_into_use() {
  for (const auto& leaf : leaves_) {
    shared_->slow.push_back(leaf.get());
    shared_->quick.push_back(leaf->made() != nullptr ? leaf->made() : leaf.get());
  }
  shared_->changed();
}

void CompositeCommunicator::take_into_use(const Leaf& made) noexcept {
  for (std::size_t index = 0; index < leaves_.size(); ++index) {
    if (leaves_[index].get() == &made) shared_->quick[index] = made.made();
  }
}

CompositeCommunicator::~CompositeCommunicator() = default;

BackendCommunicator& CompositeCommunicator::leaf(std::size_t index) const noexcept { return *leaves_[index]->made(); }

BackendCommunicator& CompositeCommunicator::do_route(const Operation& operation) { return *leaves_[choose(operation)]; }

void CompositeCommunicator::do_run(const Operation& operation) { run_on(choose(operation), operation); }

void CompositeCommunicator::fail(const BackendCommunicator& leaf, const Error& error, const Operation& operation) {
  for (const auto& one : leaves_) {
    if (one->made() == &leaf) one->fail(error, operation);
  }
  throw;  // of a leaf itself, which has taken care of it
}

bool CompositeCommunicator::do_may_reach(const Operation& operation) const {
  return leaves_[choose(operation)]->may_reach(operation);
}

bool CompositeCommunicator::do_reaches(const Operation& operation) {
  return leaves_[choose(operation)]->reaches(operation);
}

std::unique_ptr<PendingOperation> CompositeCommunicator::do_start(const Operation& operation) {
  return leaves_[choose(operation)]->start(operation);
}

std::unique_ptr<PendingOperation> CompositeCommunicator::do_start_group(std::span<const Operation> operations) {
  std::vector<std::unique_ptr<PendingOperation>> pending;
  for (std::size_t index = 0; index < leaves_.size(); ++index) {
    std::vector<Operation> own;
    for (const Operation& operation : operations) {
      if (choose(operation) == index) own.push_back(operation);
    }
    if (!own.empty()) pending.push_back(leaves_[index]->start_group(own));
  }
  return std::make_unique<PendingGroup>(std::move(pending));
}

void CompositeCommunicator::do_abort() noexcept {
  const Error cause(ErrorCode::aborted, "the communicator was aborted");
  for (const auto& leaf : leaves_) leaf->end(cause);
}

bool CompositeCommunicator::do_needs_watch() const noexcept {
  // A leaf that does not exist yet may need it.
  return std::ranges::any_of(leaves_,
                             [](const auto& leaf) { return leaf->made() == nullptr || leaf->made()->needs_watch(); });
}

bool CompositeCommunicator::do_interrupt(const Error& cause) noexcept {
  (void)shared_->failure.keep(cause);
  shared_->changed();
  bool all = true;
  for (const auto& leaf : leaves_) all = leaf->interrupt_made(cause) && all;
  return all;
}

void CompositeCommunicator::do_close() noexcept {
  for (const auto& leaf : leaves_) {
    if (BackendCommunicator* const made = leaf->made()) made->close();
  }
}

}  // namespace tutti::spi
