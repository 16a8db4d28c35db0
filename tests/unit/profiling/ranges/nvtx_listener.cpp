// A tool that reads NVTX ranges: counts begins and ends and says so when the process exits.
#include <nvtx3/nvToolsExt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace {

struct Counts {
  std::mutex mutex;
  std::map<std::string, std::pair<int, std::uint64_t>> begun;  // by message: ranges and the sum of their payloads
  std::map<nvtxRangeId_t, int> open;
  int ended = 0;
  int unknown_ends = 0;
  nvtxRangeId_t last = 0;
};
Counts& counts() {
  static auto* const one = new Counts;
  return *one;
}

// Handles are opaque: a registered string is its own copy, the domain any address.
nvtxDomainHandle_t create_domain(const char* name) {
  if (std::string(name) != "tutti") std::abort();
  return reinterpret_cast<nvtxDomainHandle_t>(&counts());
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t, const char* text) {
  return reinterpret_cast<nvtxStringHandle_t>(new std::string(text));
}

nvtxRangeId_t begin(nvtxDomainHandle_t, const nvtxEventAttributes_t* attributes) {
  const std::scoped_lock lock(counts().mutex);
  auto& row = counts().begun[*reinterpret_cast<const std::string*>(attributes->message.registered)];
  ++row.first;
  row.second += attributes->payload.ullValue;
  counts().open[++counts().last] = 1;
  return counts().last;
}

void end(nvtxDomainHandle_t, nvtxRangeId_t range) {
  const std::scoped_lock lock(counts().mutex);
  ++counts().ended;
  if (counts().open.erase(range) == 0) ++counts().unknown_ends;
}

void print() {
  for (const auto& [name, row] : counts().begun)
    std::fprintf(stderr, "%s: %d ranges, %llu bytes\n", name.c_str(), row.first,
                 static_cast<unsigned long long>(row.second));
  std::fprintf(stderr, "ended: %d, open: %zu, unknown: %d\n", counts().ended, counts().open.size(),
               counts().unknown_ends);
}

template <typename Function>
void put(NvtxFunctionTable table, unsigned index, Function function) {
  *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  put(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  put(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  put(table, NVTX_CBID_CORE2_DomainRangeStartEx, begin);
  put(table, NVTX_CBID_CORE2_DomainRangeEnd, end);
  std::atexit(print);
  return 1;
}
