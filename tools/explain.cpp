#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "launch/launch_target.hpp"
#include "text/table.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/communicator.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

struct ExplainOptions {
  OpKind op = OpKind::allreduce;
  std::uint64_t bytes = 0;
  int ranks = 0;  ///< 0: the default
  DataType type = DataType::float32;
  Reduction reduction = Reduction::sum;
  std::string device = "host";
};

template <typename Rows, typename Name>
std::string names_of(const Rows& rows, const Name& name) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(name(row));
  return join(names, ", ");
}

OpKind parse_op(const std::string& text) {
  if (const auto op = parse_op_kind(text)) return *op;
  throw UsageError(concat("unknown operation \"", printable(text),
                          "\"; accepted: ", names_of(kOpTraits, [](const OpTraits& row) { return row.name; })));
}

std::uint64_t parse_size(const std::string& text) {
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes >= kNoLimit / 2)
    throw UsageError(
        concat("\"", printable(text), "\" is no message size; accepted: bytes, or a number with K, M or G"));
  return *bytes;
}

DataType parse_type(const std::string& text) {
  if (const auto type = parse_data_type(text)) return *type;
  throw UsageError(concat("unknown data type \"", printable(text),
                          "\"; accepted: ", names_of(kDataTypes, [](DataType type) { return name(type); })));
}

std::string margin_text(const Explanation& answer) {
  if (answer.next_best.empty()) return "none known";
  const double slower = answer.next_best_us / answer.expected_us - 1;
  return concat(answer.next_best, ", ", format_time_us(answer.next_best_us), " (",
                slower >= 0 ? three_digits(slower * 100) + " % slower" : three_digits(-slower * 100) + " % faster",
                ")");
}

std::string text_of(const Explanation& answer, const ExplainOptions& options, int ranks) {
  Table table({{""}, {""}});
  table.add({"operation",
             concat(name(options.op), " of ", format_bytes(options.bytes), ", ", name(options.type), ", ", ranks,
                    ranks == 1 ? " rank, " : " ranks, ", options.device == "host" ? "host" : "device", " memory")});
  table.add({"backend", answer.backend});
  table.add({"reason", answer.reason});
  table.add({"expected", answer.expected_us > 0 ? format_time_us(answer.expected_us) : "unknown: not measured"});
  table.add({"emulated", answer.emulated ? "yes" : "no"});
  table.add({"next best", margin_text(answer)});
  const Terminal terminal(STDOUT_FILENO);
  return table.render(terminal, terminal.columns());
}

int explain(const ExplainOptions& options) {
  const Config config;
  const MemoryKind memory = options.device == "host" ? MemoryKind::host : MemoryKind::device;
  const Communicator comm = world({.config = config, .name = "explain"});
  if (comm.size() > 1) {
    if (options.ranks > 0)
      throw UsageError(
          concat("-n supposes a job, but this is rank ", comm.rank(), " of one of ", comm.size(), " ranks; remove -n"));
    const Explanation answer = comm.explain(options.op, options.bytes, options.type, options.reduction, memory);
    if (comm.rank() == 0) write_result(text_of(answer, options, comm.size()));
    return 0;
  }
  const int ranks = options.ranks > 0 ? options.ranks : std::clamp(this_host().cores, 2, 4);
  Explanation answer;
  if (const std::string& backend = config.text("TUTTI_BACKEND"); backend != "auto") {
    answer = comm.explain(options.op, options.bytes, options.type, options.reduction, memory);
  } else {
    answer = explain_auto(config, ranks, options.op, options.bytes, options.type, options.reduction, memory);
  }
  write_result(text_of(answer, options, ranks));
  return 0;
}

}  // namespace

void add_explain_command(CLI::App& tutti, Invocation& invocation) {
  CLI::App& command = add_command(
      tutti,
      {.name = "explain",
       .summary = "Say which backend carries out an operation, and why.",
       .usage = "tutti explain OPERATION SIZE [options]",
       .description =
           "Says which backend auto takes for an operation of a message size, the reason (a pin, a row of the tuning "
           "file or a rule), the time to expect, whether the operation is emulated, and the next best backend. Answers "
           "for a job that tutti run starts on this host without --backend; started as the ranks of a job, for that "
           "job.",
       .footer = "Examples:\n"
                 "  tutti explain allreduce 4M\n"
                 "  tutti explain allgather 64K -n 4 --dtype int8\n"
                 "  TUTTI_PIN=allreduce:1M-8M=ccl tutti explain allreduce 4M\n"
                 "  mpirun -n 2 tutti explain allreduce 4M\n"});
  const auto options = std::make_shared<ExplainOptions>();
  add_value(command, "OPERATION", "", "The operation, e.g. allreduce.", [options](const std::string& text) {
    options->op = parse_op(text);
  }).required();
  add_value(command, "SIZE", "", "The message size in bytes, with K, M and G as powers of 1024.",
            [options](const std::string& text) { options->bytes = parse_size(text); })
      .required();
  add_number(command, "-n,--ranks", options->ranks, 1, 1000000,
             "Number of ranks. Default: one per core, at least 2 and at most 4.");
  add_value(command, "--dtype", "TYPE", "Element type, e.g. bfloat16. Default: float32.",
            [options](const std::string& text) { options->type = parse_type(text); });
  add_value(command, "--device", "DEVICE", "Memory of the buffers: host, or any device. Default: host.",
            [options](const std::string& text) { options->device = text; });
  command.callback([&invocation, options] { invocation.exit_code = explain(*options); });
}

}  // namespace tutti::tools
