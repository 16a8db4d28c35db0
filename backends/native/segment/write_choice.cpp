#include "segment/write_choice.hpp"

namespace tutti::native {

void WriteChoice::begin(bool is_short) noexcept {
  costs_[is_short ? 0 : 1] = {};
  (is_short ? short_ : long_).begin_next();
}

void WriteChoice::judge_long() noexcept {
  const Costs& writes = costs_[1];
  if (writes[1].bytes == 0) return;  // one long chunk was the whole trial
  long_.judge(writes[0].per_byte(), writes[1].per_byte());
}

void WriteChoice::judge_short(const Costs& reads) noexcept {
  const Costs& writes = costs_[0];
  std::array<double, kWatched> total{};
  for (std::size_t way = 0; way < kWatched; ++way) {
    const MoveCost read{reads[way].ns - reads_before_[way].ns, reads[way].bytes - reads_before_[way].bytes};
    if (read.bytes <= 0 || writes[way].bytes <= 0) return;  // no reader has come so far
    total[way] = writes[way].per_byte() + read.per_byte();
  }
  short_.judge(total[0], total[1]);
}

}  // namespace tutti::native
