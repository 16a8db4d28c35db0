#include "engine/inner_switch.hpp"

#include <algorithm>
#include <utility>

#include "tutti/backend_spec.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::horovod {
namespace {

/// Arguments for the creation of a late leaf.
struct LaterContext {
  Config config;
  spi::Peers peers;
};

std::vector<spi::CompositeCommunicator::LateLeaf> late_leaves(std::span<const std::string> specs,
                                                              const spi::CreateContext& context) {
  const auto later = std::make_shared<const LaterContext>(LaterContext{context.config, context.peers});
  std::vector<spi::CompositeCommunicator::LateLeaf> leaves;
  for (const std::string& spec : specs) {
    const spi::Probe probe = spi::probe_backend(spec, {.config = context.config, .peers = &context.peers});
    leaves.push_back(
        {.name = spec, .capabilities = probe.capabilities, .create = [later, spec](const Rendezvous& meeting) {
           return spi::create_backend(spec, {.config = later->config, .rendezvous = meeting, .peers = later->peers});
         }});
  }
  return leaves;
}

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) words.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

/// The specs of rank 0's list.
std::vector<std::string> specs_of(const std::string& list, const Config& config) {
  if (list != "all") {
    std::vector<std::string> specs;
    for (const std::string& word : words_of(list)) specs.push_back(parse_backend_spec(word).text());
    return specs;
  }
  std::vector<std::string> specs;
  for (const BackendInfo& backend : unprobed_backends(config)) {
    if (backend.module == nullptr || backend.module->nests || backend.name == "auto") continue;
    if (std::ranges::find(specs, backend.name) == specs.end()) specs.push_back(backend.name);
  }
  return specs;
}

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

}  // namespace

InnerSwitch::InnerSwitch(const spi::Capabilities& capabilities, std::unique_ptr<spi::BackendCommunicator> first,
                         std::span<const std::string> others, const spi::CreateContext& context)
    : CompositeCommunicator(capabilities, std::move(first), late_leaves(others, context), context.rendezvous) {
  offers_.push_back(capabilities);
  for (const auto& leaf : late_leaves(others, context)) offers_.push_back(leaf.capabilities);
}

std::size_t InnerSwitch::choose(const Operation& operation) const noexcept {
  const std::size_t selected = selected_.load(std::memory_order_relaxed);
  const bool may_switch = operation.kind == OpKind::allreduce && operation.where.kind == MemoryKind::host;
  return may_switch && offers_[selected].takes(operation) ? selected : 0;
}

std::vector<std::string> usable_inners(const Config& config, const Rendezvous& meeting, const spi::Peers& peers,
                                       const std::string& base, const std::string& list) {
  const std::string mine = peers.rank == 0 ? joined(specs_of(list, config)) : std::string();
  const std::vector<std::string> wanted = words_of(meeting.allgather("inners.wanted", mine).front());
  if (wanted.empty()) return {};
  std::vector<std::string> usable;
  for (const std::string& spec : wanted) {
    const spi::Probe probe = spi::probe_backend(spec, {.config = config, .peers = &peers, .named = true});
    if (!probe.usable) continue;
    const std::string whole =
        probe.product.empty() || spec.ends_with(":" + probe.product) ? spec : spec + ":" + probe.product;
    if (whole != base && std::ranges::find(usable, whole) == usable.end()) usable.push_back(whole);
  }
  // A backend that another rank lacks, or has with another product, is none.
  for (const std::string& of_rank : meeting.allgather("inners.usable", joined(usable))) {
    const std::vector<std::string> its = words_of(of_rank);
    std::erase_if(usable, [&](const std::string& spec) { return std::ranges::find(its, spec) == its.end(); });
  }
  return usable;
}

}  // namespace tutti::horovod
