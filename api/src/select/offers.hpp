#pragma once

#include <map>
#include <string>
#include <vector>

#include "select/candidates.hpp"
#include "tuning/pins.hpp"
#include "tutti/tuning.hpp"

namespace tutti {

/// Table and pins by which this rank would route operations.
struct OwnTuning {
  LoadedTuning loaded;
  std::string digest = {};  ///< of the table; empty without one
  std::vector<Pin> pins = {};
};

/// Backends that this rank finds: those that the spec or `auto` may mean, and those that pins and its table name.
struct OwnOffers {
  std::string wanted;
  OwnTuning tuning;
  Candidates candidates;  ///< by name
  Candidates named;       ///< by spec
};

/// `tuned`: pins and the tuning file count. Some backends that are slower on one host are looked for only if these name
/// them.
[[nodiscard]] OwnOffers find_offers(const spi::Peers& peers, const Config& config, const BackendSpec& spec, bool tuned);

/// A backend that a rank has, as the other ranks see it.
struct Offer {
  std::string variant;
  std::string product;
  std::string version;
  bool usable = false;
  int preference = 0;
  std::string reason;

  [[nodiscard]] std::string library() const { return product.empty() ? variant : product; }
};

/// The backends of one rank.
struct RankOffers {
  std::string wanted;
  std::string tuning;
  std::map<std::string, Offer> offers;
  std::map<std::string, Offer> named;  ///< by spec: those of pins and table
};

/// Text of the offers that a rank sends to the others.
[[nodiscard]] std::string encode(const OwnOffers& own);
[[nodiscard]] RankOffers decode(const std::string& text);

/// Empty when every rank can use `name` with the same library, else the rank that cannot and the reason.
[[nodiscard]] std::string objection(const std::string& name, const std::vector<RankOffers>& ranks,
                                    std::map<std::string, Offer> RankOffers::*kind = &RankOffers::offers);

}  // namespace tutti
