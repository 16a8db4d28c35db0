#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "native_api.hpp"
#include "segment/layout.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::native {

/// The shared memory of one communicator as this process has it mapped. Ranks that are threads of one process share the
/// object: there must be one descriptor per process, because closing any other one would drop the process's locks (see
/// api::lock_byte).
class Segment {
 public:
  /// Collective over the rendezvous: rank 0 creates it, all others open it. Nothing is left behind in the file system,
  /// whatever happens. Throws Error{system} on every rank, with every rank's reason, if one of them cannot have it.
  [[nodiscard]] static std::shared_ptr<Segment> join(const spi::CreateContext& context);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return mapping_.bytes(); }
  /// "memfd", "shm" or "process".
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

  /// Declares that `rank` lives in this process; from the thread of the rank, whose node gives the memory of its parts.
  /// Throws Error{system} when there is none, or when the file cannot be locked.
  void hold(int rank) const;
  /// ... no longer.
  void release(int rank) const noexcept;
  /// Whether the cores on which the ranks may run are as many as the ranks.
  [[nodiscard]] bool has_core_per_rank() const noexcept;
  /// Whether the process of `rank`, which is another one than this, is there.
  [[nodiscard]] bool is_held(int rank) const noexcept;

 private:
  friend class SegmentOffer;
  Segment(std::string kind, api::FileDescriptor file, api::Mapping mapping, const Geometry& geometry, bool creator);

  // Gives a part of the segment memory of the calling thread's node.
  void bring_in(const Layout::Part& part) const;

  std::string kind_;
  api::FileDescriptor file_;  // none for "process"
  api::Mapping mapping_;
  Layout layout_;
  bool creator_;
};

}  // namespace tutti::native
