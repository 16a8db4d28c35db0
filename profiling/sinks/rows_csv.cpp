#include <fmt/format.h>

#include <array>

#include "sinks/breakdown.hpp"
#include "sinks/lookup.hpp"

namespace tutti::profiling {
namespace {

constexpr std::array<const char*, kKindCount> kKinds = {"host",    "device",    "traffic", "allocation",
                                                        "release", "operation", "stage"};

/// A text field: quoted where it holds a separator, a quote or an end of line (RFC 4180).
std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

std::string line_of(const Profile& profile, const TallyRow& row) {
  static const SourceRow kNoSource;
  static const ProcessRow kNoProcess;
  static const ContextRow kNoContext;
  static const DeviceRow kNoDevice;
  const auto or_else = [](const auto* found, const auto& none) -> const auto& { return found ? *found : none; };
  const SourceRow& source = or_else(row_at(profile.sources, row.source), kNoSource);
  const ProcessRow& process = or_else(row_at(profile.processes, row.process), kNoProcess);
  const ContextRow& context = or_else(row_at(profile.contexts, row.context), kNoContext);
  const DeviceRow& device = or_else(row_at(profile.devices, row.device), kNoDevice);
  const Statistics& values = row.statistics;
  const auto kind = static_cast<std::size_t>(row.kind);
  std::string line = fmt::format("{},{},{},{},{},{},{},{},{},{},", kind < kKinds.size() ? kKinds[kind] : "unknown",
                                 quoted(source.title), source.level, quoted(process.host), process.pid,
                                 process.rank < 0 ? "" : std::to_string(process.rank), row.thread, quoted(device.name),
                                 device.device, device.sub_device);
  line +=
      fmt::format("{},{},{},{},{},{},{},{},", quoted(context.operation), quoted(context.type), quoted(context.backend),
                  quoted(context.label), row.context < 0 ? "" : std::to_string(context.bytes), context.ranks,
                  quoted(row.region), quoted(row.name));
  const bool has_values = values.calls > values.errors;
  return line + fmt::format("{},{},{},{},{},{},{},{},{}\n", values.calls, values.errors, values.total,
                            has_values ? std::to_string(values.min) : "", has_values ? std::to_string(values.max) : "",
                            values.bytes, values.values.quantile(0.5), values.values.quantile(0.9),
                            values.values.quantile(0.99));
}

}  // namespace

std::string rows_csv(const Profile& profile) {
  std::string text =
      "kind,source,level,host,pid,rank,thread,device_name,device,sub_device,operation,type,backend,label,size,ranks,"
      "region,name,calls,errors,total,min,max,message_bytes,p50,p90,p99\n";
  for (const TallyRow& row : profile.rows) text += line_of(profile, row);
  return text;
}

}  // namespace tutti::profiling
