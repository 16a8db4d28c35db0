#include "staging/group_image.hpp"

#include <cstdint>
#include <utility>

#include "staging/staging_rules.hpp"

namespace tutti {

GroupImage::GroupImage(StagingAreas& areas, const spi::Capabilities& capabilities, int ranks,
                       std::span<Operation> ops) {
  for (Operation& op : ops) {
    if (!needs_staging(op, capabilities)) continue;
    Entry entry;
    const Stream stream = stream_of(op);
    entry.area = areas.of(stream);
    entry.whole = op;
    if (!op.stream.is_host()) entry.area->runtime().record(stream)->wait();
    if (is_copied(op, capabilities)) {
      StagedPiece piece = StagingPlan(entry.whole, ranks, UINT64_MAX).piece(0);
      entry.slot = entry.area->make_slot({piece.input_bytes, piece.output_bytes});
      entry.slot->fetch(entry.whole, std::move(piece));
      op = entry.slot->operation();
    }
    op.where = {};
    op.stream = {};
    entries_.push_back(std::move(entry));
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_fetched();
  }
}

void GroupImage::deliver() {
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->deliver(entry.whole);
  }
  for (Entry& entry : entries_) {
    if (entry.slot != nullptr) entry.slot->wait_delivered();
  }
}

}  // namespace tutti
