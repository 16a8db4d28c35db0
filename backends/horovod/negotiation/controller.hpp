#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "negotiation/fusion.hpp"
#include "negotiation/groups.hpp"
#include "negotiation/message.hpp"
#include "negotiation/message_table.hpp"
#include "negotiation/response_cache.hpp"

namespace tutti::horovod {

/// The negotiation of a process set without its communication: from the messages of all ranks in a round it derives
/// what all of them process next. Every rank has its own controller; all come to the same decisions, because they
/// depend on the messages only. Not synchronised.
class Controller {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::size_t cache_capacity = 1024;
    int local_size = 1;  ///< ranks on each host, if `is_homogeneous`
    bool is_homogeneous = true;
    bool fuses_groups = true;
    bool layers_first = false;  ///< tensors that became ready later for the first time have a higher priority
    Parameters parameters = {};
  };

  explicit Controller(const Options& options);

  /// Responses that all ranks carry out after a round, in this order.
  struct Decision {
    std::vector<Response> responses;
    bool shutdown = false;
  };
  /// `messages`: by rank, with the requests in `received`.
  [[nodiscard]] Decision decide(std::span<RoundMessage> messages);

  [[nodiscard]] const ResponseCache& cache() const noexcept { return cache_; }
  [[nodiscard]] const MessageTable& table() const noexcept { return table_; }
  /// Values in force on all ranks.
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] FusionRule fusion_rule() const noexcept;

 private:
  void adopt(const Parameters& parameters);
  [[nodiscard]] std::vector<Response> common_hits(std::span<const RoundMessage> messages) const;
  void remember(const std::vector<Response>& responses);
  void put_urgent_first(std::vector<Response>& responses);

  Options options_;
  Parameters parameters_;
  ResponseCache cache_;
  MessageTable table_;
  Groups groups_;
  std::unordered_map<std::string, std::int32_t> layers_;  ///< priorities by name, if layers_first
};

}  // namespace tutti::horovod
