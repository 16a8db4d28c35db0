#pragma once

#include <map>
#include <string>
#include <vector>

#include "negotiation/message.hpp"

namespace tutti::horovod {

/// Keeps the tensors of a group back until all of them are ready. Not synchronised.
class Groups {
 public:
  /// The responses that may be processed now: those of no group, and those of complete groups side by side.
  /// `cached`: from the response cache; those of an incomplete group are dropped, since the ranks ask for them again.
  /// `ready`: from the negotiation; those of an incomplete group are kept.
  [[nodiscard]] std::vector<Response> release(std::vector<Response> cached, std::vector<Response> ready);

 private:
  std::map<std::string, std::vector<Response>> kept_;
};

}  // namespace tutti::horovod
