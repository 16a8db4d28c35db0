#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "buffers/host_images.hpp"
#include "engine/entry.hpp"
#include "negotiation/fusion.hpp"
#include "negotiation/message.hpp"

namespace tutti::horovod {

/// A response with this rank's tensors, and how far it has been carried out.
struct Job {
  Response response;
  /// In the order of Response::names; null where this rank has joined. Nothing until they have been found.
  std::optional<std::vector<EntryPointer>> entries;
  bool has_begun = false;
  bool is_on_device = false;  ///< the inner backend works on device memory
  HostImages images;          ///< of tensors in device memory, otherwise
  std::vector<Piece> pieces;
  std::size_t piece = 0;    ///< the next one
  std::uint64_t batch = 0;  ///< for the observer
};

/// Responses that all ranks have decided on and that have not been carried out yet, those of the highest priority
/// first. The same on all ranks. Not synchronised.
class Schedule {
 public:
  /// Adds a response behind those of at least its priority, or with `overtakes` false behind all. The reference is
  /// valid until the job is removed.
  Job& add(Response response, bool overtakes);
  [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }
  [[nodiscard]] Job& first() noexcept { return jobs_.front(); }
  void remove_first() { jobs_.pop_front(); }
  /// Removes all jobs and returns the tensors of those that have begun.
  [[nodiscard]] std::vector<EntryPointer> clear();

 private:
  std::list<Job> jobs_;
};

}  // namespace tutti::horovod
