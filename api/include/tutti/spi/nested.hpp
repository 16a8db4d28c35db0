#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/module.hpp"

/// For modules that stand on other backends: decorators, which change how operations are executed, and composites,
/// which only route them (tutti/spi/composite.hpp).
namespace tutti::spi {

/// Probes the best variant of a backend; `spec` as in tutti/backend_spec.hpp, "auto" or empty: the best backend. An
/// unknown backend is not usable, with the reason. Throws Error{config} for a malformed spec.
[[nodiscard]] TUTTI_API Probe probe_backend(std::string_view spec, const ProbeContext& context);

/// Creates a communicator of a backend for a module that stands on it: over all ranks of the context, or, with a
/// context of subset() and Rendezvous::subset(), over some. Collective over them. With a parent, the new communicator
/// is of the parent's backend and `spec` is ignored. TUTTI_STRICT and TUTTI_REPRODUCIBLE are applied. Throws
/// Error{backend_unavailable} that names the rank and the reason.
[[nodiscard]] TUTTI_API std::unique_ptr<BackendCommunicator> create_backend(std::string_view spec,
                                                                            const CreateContext& context);

/// The peers of a group of some of the ranks; `members` are their ranks in order and include this one.
[[nodiscard]] TUTTI_API Peers subset(const Peers& peers, std::span<const int> members);

/// The parent of a new communicator as the type that `module` creates; null if there is none. Throws
/// Error{invalid_usage} if another module created the parent.
template <typename Communicator>
[[nodiscard]] Communicator* parent_of(const CreateContext& context, const BackendModule& module) {
  if (context.parent == nullptr) return nullptr;
  if (context.parent->module() != &module) {
    throw Error(ErrorCode::invalid_usage,
                "the parent communicator is one of " + context.parent->name() + ", so " + std::string(module.name) +
                    " cannot split it",
                std::string(module.name));
  }
  return static_cast<Communicator*>(context.parent);
}

/// Bytes of an operation as every rank of it knows them, for routing by size; nothing for operations whose ranks know
/// different parts of the layout (gatherv, scatterv, alltoallv).
[[nodiscard]] TUTTI_API std::optional<std::uint64_t> common_bytes(const Operation& operation, int ranks) noexcept;

/// Passes every call on to another communicator. Base of decorators: a call that a decorator does not override reaches
/// the inner communicator.
class TUTTI_API ForwardingCommunicator : public BackendCommunicator {
 protected:
  explicit ForwardingCommunicator(std::unique_ptr<BackendCommunicator> inner)
      : BackendCommunicator(inner->capabilities()), owned_(std::move(inner)), inner_(owned_.get()) {}
  /// For a decorator that can do less than the inner communicator, or more.
  ForwardingCommunicator(std::unique_ptr<BackendCommunicator> inner, const Capabilities& capabilities)
      : BackendCommunicator(capabilities), owned_(std::move(inner)), inner_(owned_.get()) {}
  /// `inner` must outlive it.
  explicit ForwardingCommunicator(BackendCommunicator& inner)
      : BackendCommunicator(inner.capabilities()), inner_(&inner) {}

  [[nodiscard]] BackendCommunicator& inner() const noexcept { return *inner_; }

  void do_run(const Operation& operation) override { inner_->run(operation); }
  bool do_may_reach(const Operation& operation) const override { return inner_->may_reach(operation); }
  bool do_reaches(const Operation& operation) override { return inner_->reaches(operation); }
  std::unique_ptr<PendingOperation> do_start(const Operation& operation) override { return inner_->start(operation); }
  std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations) override {
    return inner_->start_group(operations);
  }
  void do_abort() noexcept override { inner_->abort(); }
  [[nodiscard]] bool do_needs_watch() const noexcept override { return inner_->needs_watch(); }
  bool do_interrupt(const Error& cause) noexcept override { return inner_->interrupt(cause); }
  void do_close() noexcept override { inner_->close(); }
  [[nodiscard]] const BackendCommunicator* do_inner() const noexcept override { return inner_; }

 private:
  std::unique_ptr<BackendCommunicator> owned_;
  BackendCommunicator* inner_;
};

}  // namespace tutti::spi
