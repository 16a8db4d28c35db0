// A backend with known costs: every operation makes 3 calls into its library and allocates twice, and operations above
// 4 MiB take 5 ms longer, reduce 100 ms, so that a busy machine does not hide it. The native engine does the work.
// Built with TUTTI_FAKE_SLOW_BELOW it is a second backend, whose operations of up to 4 MiB are the slow ones.
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tutti/spi/instrument.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti::test {
namespace {

constexpr std::uint64_t kBoundary = std::uint64_t{4} << 20;
constexpr std::chrono::milliseconds kDelay(5);
constexpr std::chrono::milliseconds kDelayOfReduce(100);
constexpr std::string_view kLibrary = "costly";
#ifdef TUTTI_FAKE_SLOW_BELOW
constexpr const char* kName = "fake_costly_below";
constexpr bool kSlowAbove = false;
#else
constexpr const char* kName = "fake_costly";
constexpr bool kSlowAbove = true;
#endif

/// Memory that is reported to the observer.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : bytes_(bytes) {
    spi::report_allocation(kLibrary, bytes_.data(), bytes_.size());
  }
  ~Scratch() { spi::report_free(kLibrary, bytes_.data(), bytes_.size()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

 private:
  std::vector<std::byte> bytes_;
};

/// The functions of the library.
struct Library {
  spi::VendorFunction<int (*)()> prepare{kLibrary, "costly_prepare"};
  spi::VendorFunction<int (*)(OpKind op, std::uint64_t bytes)> work{kLibrary, "costly_work"};
  spi::VendorFunction<int (*)()> finish{kLibrary, "costly_finish"};

  Library() {
    prepare.set([] { return 0; });
    work.set([](OpKind op, std::uint64_t bytes) {
      const bool is_slow = (bytes > kBoundary) == kSlowAbove;
      if (is_slow) std::this_thread::sleep_for(op == OpKind::reduce ? kDelayOfReduce : kDelay);
      return 0;
    });
    finish.set([] { return 0; });
  }
};

class Costly final : public spi::ForwardingCommunicator {
 public:
  Costly(std::unique_ptr<spi::BackendCommunicator> engine, int ranks)
      : ForwardingCommunicator(std::move(engine)), ranks_(ranks) {}
  using ForwardingCommunicator::inner;

 private:
  void spend(const Operation& operation) const {
    const Scratch first(1000);
    const Scratch second(24);
    library_.prepare();
    library_.work(operation.kind, spi::common_bytes(operation, ranks_).value_or(0));
    library_.finish();
  }
  void do_run(const Operation& operation) override {
    spend(operation);
    ForwardingCommunicator::do_run(operation);
  }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    spend(operation);
    return ForwardingCommunicator::do_start(operation);
  }
  /// The engine is no part of its name, as that of a library is none.
  [[nodiscard]] const spi::BackendCommunicator* do_inner() const noexcept override { return nullptr; }

  Library library_;
  int ranks_;
};

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result = spi::probe_backend("native", context);
  result.preference = -1000;
  return result;
}

extern const spi::BackendModule kModule;

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  spi::CreateContext inner = context;
  if (const auto* parent = spi::parent_of<Costly>(context, kModule)) inner.parent = &parent->inner();
  return std::make_unique<Costly>(spi::create_backend("native", inner), context.peers.size);
}

constexpr spi::BackendModule kModule = {.name = kName,
                                        .variant = {},
                                        .description = "fake with known calls, allocations and delays",
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
