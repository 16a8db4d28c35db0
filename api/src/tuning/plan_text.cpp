#include "tuning/plan_text.hpp"

#include <unistd.h>

#include "call/emulation/emulation.hpp"
#include "select/selection.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

std::string row_text(const TuningRow& row, const std::string& path) {
  std::string text = "the tuning file " + path + " has it as the fastest of " + std::string(name(row.op)) + " on " +
                     (row.on_device ? "device" : "host") + " memory from " + format_bytes(row.from);
  if (row.to != kNoLimit) text += " to " + format_bytes(row.to);
  if (row.types != TypeClass::any) text += ", " + std::string(name(row.types)) + " types";
  return text + ", " + std::to_string(row.ranks_from) +
         (row.ranks_to != row.ranks_from ? " to " + std::to_string(row.ranks_to) : "") + " ranks";
}

void add_times(const TuningPlan& plan, const PlanChoice& choice, const PlanQuestion& question, Explanation& answer) {
  const auto& backends = choice.row->backends;
  answer.expected_us = backends[choice.place].expected_us(question.bytes);
  for (std::size_t place = choice.place + 1; place < backends.size(); ++place) {
    if (!plan.is_usable(backends[place].spec)) continue;
    answer.next_best = backends[place].spec;
    if (const Composition way = backends[place].composition; way != Composition::none) {
      answer.next_best += " as " + std::string(traits(way).description);
    }
    answer.next_best_us = backends[place].expected_us(question.bytes);
    return;
  }
}

/// How the operation is carried out, if it is not by the backend's own.
void add_composition(const PlanChoice& choice, Explanation& answer) {
  const Composition composition = choice.row->backends[choice.place].composition;
  if (composition == Composition::none) return;
  answer.reason += "; auto carries it out as ";
  answer.reason += traits(composition).description;
  answer.reason += " of that backend, which is faster by at least 10 % than one call of any backend";
}

/// A rendezvous of processes on this host that tutti would start.
spi::Peers peers_here(int ranks) {
  spi::Peers peers;
  peers.size = ranks;
  peers.same_process = ranks == 1;
  for (int rank = 0; rank < ranks; ++rank) {
    peers.hosts.emplace_back("localhost");
    peers.pids.push_back(getpid() + rank);
    peers.numa_nodes.push_back(-1);
  }
  return peers;
}

}  // namespace

Explanation explain_choice(const TuningPlan& plan, const PlanQuestion& question, const std::string& rule) {
  const PlanChoice choice =
      plan.choose(question.op, question.on_device, question.type, question.reduction, question.bytes);
  Explanation answer{.backend = plan.leaves()[choice.leaf].spec, .emulated = false, .reason = {}};
  if (choice.pin != nullptr) {
    answer.reason = "TUTTI_PIN has " + choice.pin->text;
  } else if (choice.row != nullptr) {
    answer.reason = row_text(*choice.row, plan.tuning().path);
    if (choice.place > 0) answer.reason += " after others that do not apply";
    add_composition(choice, answer);
    add_times(plan, choice, question, answer);
  } else {
    answer.reason = rule;
    if (plan.tuning().table) answer.reason += "; the tuning file " + plan.tuning().path + " has no row that applies";
  }
  if (!choice.passed.empty()) answer.reason += "; " + choice.passed;
  return answer;
}

Explanation explain_auto(const Config& config, int ranks, OpKind op, std::uint64_t bytes, DataType type,
                         Reduction reduction, MemoryKind memory) {
  if (ranks < 1) throw Error(ErrorCode::invalid_argument, "a job has at least 1 rank, not " + std::to_string(ranks));
  const Selection selection = select_for(peers_here(ranks), config);
  Explanation answer{.backend = std::string(selection.module->name), .emulated = false, .reason = selection.reason};
  if (!selection.product.empty()) answer.backend += ":" + selection.product;
  spi::Capabilities has = selection.capabilities;
  if (selection.plan != nullptr) {
    const PlanQuestion question{op, type, reduction, bytes, memory != MemoryKind::host};
    answer = explain_choice(*selection.plan, question, selection.reason);
    has = selection.plan->leaves()[selection.plan->choose(op, question.on_device, type, reduction, bytes).leaf]
              .capabilities;
  }
  Operation operation;
  operation.kind = op;
  operation.type = type;
  operation.reduction = reduction;
  note_emulation(operation, has, answer);
  return answer;
}

void note_emulation(const Operation& operation, const spi::Capabilities& has, Explanation& answer) {
  if (!has.takes(operation)) {
    answer.emulated = true;
    const std::string method = Emulator::method(operation, has);
    answer.reason += method.empty() ? "; it cannot do this, nor can it be emulated" : "; emulated by " + method;
    answer.emulation = method;
  } else if (has.builds(operation.kind)) {
    answer.emulated = true;
    answer.reason += "; its library has no such operation: the backend builds it from others";
    answer.emulation = "other operations of its library";
  }
}

}  // namespace tutti
