#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "native_api.hpp"
#include "segment/layout.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::native {

/// Division of the memory that the settings allow a communicator of that many ranks on this machine.
[[nodiscard]] Geometry geometry_for(const Config& config, int ranks);

/// The shared memory of one communicator as this process has it mapped. Ranks that are threads of one process share the
/// object: there must be one descriptor per process, because closing any other one would drop the process's locks (see
/// api::lock_byte).
class Segment {
 public:
  /// Collective over the rendezvous: rank 0 creates the segment, all other ranks open it. No file is left behind, also
  /// after an error. Throws Error{system} on every rank, with the reasons of all ranks, if any of them cannot open it.
  [[nodiscard]] static std::shared_ptr<Segment> join(const spi::CreateContext& context);

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return mapping_.bytes(); }
  /// "memfd", "shm" or "process".
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }

  /// Declares that `rank` lives in this process. To be called by the thread of the rank: the memory of its parts comes
  /// from that thread's NUMA node. Throws Error{system} when memory is exhausted or the file cannot be locked.
  void hold(int rank) const;
  /// Declares that `rank` has left.
  void release(int rank) const noexcept;
  /// Ranks on each core when they are spread evenly over the cores on which any of them may run.
  [[nodiscard]] int ranks_per_core() const noexcept;
  /// Whether the process of `rank` is alive. Only for ranks of other processes.
  [[nodiscard]] bool is_held(int rank) const noexcept;

 private:
  friend class SegmentOffer;
  Segment(std::string kind, api::FileDescriptor file, api::Mapping mapping, const Geometry& geometry, bool creator);

  // Allocates the memory of a part on the NUMA node of the calling thread.
  void bring_in(const Layout::Part& part) const;
  [[noreturn]] void throw_lack_of_memory(int code) const;

  std::string kind_;
  api::FileDescriptor file_;  // none for "process"
  api::Mapping mapping_;
  Layout layout_;
  bool creator_;
};

}  // namespace tutti::native
