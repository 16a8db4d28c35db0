#include "faults/campaign/verdict/journal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tutti::test::campaign {
namespace {

constexpr std::size_t kKeptLines = 40;

nlohmann::json report_of(const RankTrace& trace, int wait_status) {
  nlohmann::json lines = nlohmann::json::array();
  const auto& all = trace.lines();
  const std::size_t first = all.size() > kKeptLines ? all.size() - kKeptLines : 0;
  for (std::size_t i = first; i < all.size(); ++i) {
    lines.push_back(std::to_string(all[i].time_ns) + " " + all[i].kind + " " + all[i].text);
  }
  return {{"wait_status", wait_status}, {"lines", std::move(lines)}};
}

}  // namespace

std::string journal_line(const RunPlan& plan, const JobResult& result, const Judgement& judgement, int attempt) {
  nlohmann::json line = {{"run", plan.id.run},
                         {"seed", plan.id.seed},
                         {"backend", plan.id.backend},
                         {"fault", row_of(plan.id.fault).name},
                         {"variant", variant_name(plan)},
                         {"ranks", plan.ranks},
                         {"culprit", plan.culprit},
                         {"checks", plan.checks},
                         {"attempt", attempt},
                         {"verdict", name(judgement.verdict)},
                         {"reason", judgement.reason},
                         {"noticed_s", judgement.noticed_s},
                         {"seconds", result.seconds}};
  if (!result.traces.empty()) {
    // Whether the call that was to fail, or the step at which the fault fires, was reached.
    const RankTrace& culprit = result.traces[static_cast<std::size_t>(plan.culprit)];
    const bool counts_calls = plan.id.fault == Fault::allocation || plan.id.fault == Fault::system_call;
    line["fired"] = culprit.find(counts_calls ? "injected" : "fault") != nullptr;
    if (const ReportLine* fault = culprit.find("fault")) line["form"] = fault->text;
  }
  nlohmann::json errors = nlohmann::json::object();
  for (std::size_t rank = 0; rank < result.traces.size(); ++rank) {
    const auto error = result.traces[rank].error();
    if (error) errors[std::to_string(rank)] = error->code + ": " + error->message;
  }
  line["errors"] = std::move(errors);
  if (result.has_launcher) line["leaves_survivors"] = plan.leaves_survivors;
  if (is_bad(judgement.verdict)) {
    nlohmann::json reports = nlohmann::json::array();
    for (std::size_t rank = 0; rank < result.traces.size(); ++rank) {
      reports.push_back(report_of(result.traces[rank], result.wait_status[rank]));
    }
    line["step"] = plan.at;
    line["during"] = plan.during;
    line["reports"] = std::move(reports);
    line["evidence"] = result.evidence;
    line["output"] = result.output;
  }
  return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<Entry> parse_journal_line(const std::string& text) {
  const nlohmann::json line = nlohmann::json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  try {
    const auto verdict = parse_verdict(line.at("verdict").get<std::string>());
    if (!verdict) return std::nullopt;
    return Entry{.seed = line.at("seed").get<std::uint64_t>(),
                 .run = line.at("run").get<std::uint64_t>(),
                 .backend = line.at("backend").get<std::string>(),
                 .fault = line.at("fault").get<std::string>(),
                 .verdict = *verdict,
                 .reason = line.at("reason").get<std::string>(),
                 .noticed_s = line.at("noticed_s").get<double>()};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Journal::Journal(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw std::runtime_error(path + " cannot be opened: " + std::strerror(errno));
  const off_t length = lseek(file_, 0, SEEK_END);
  char last = '\n';
  if (length > 0 && pread(file_, &last, 1, length - 1) == 1 && last != '\n') append({});
}

Journal::~Journal() {
  if (file_ >= 0) close(file_);
}

void Journal::append(const std::string& line) const {
  if (file_ < 0) return;
  const std::string text = line + "\n";
  if (write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the journal cannot be written: " + std::string(std::strerror(errno)));
  }
}

std::vector<Entry> Journal::read(const std::string& path) {
  std::vector<Entry> entries;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (auto entry = parse_journal_line(line)) entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace tutti::test::campaign
