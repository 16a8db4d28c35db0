// A backend with the minimum of operations: allgather, send and recv of bytes and one reduction, for ranks that are
// threads. All other operations of the conformance suite are emulated on it.
#include <array>
#include <cstring>

#include "fakes/minimal_board.hpp"
#include "fakes/threaded_memory.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/first_failure.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::test {
namespace {

constexpr spi::Capabilities kCapabilities = [] {
  spi::Capabilities result;
  result.add(OpKind::allgather).add(OpKind::send).add(OpKind::recv).add(OpKind::allreduce);
  result.add(DataType::uint8).add(Reduction::sum, DataType::float32);
  return result;
}();

// Messages that this rank waits for; its own messages are already on the board.
class Receipt final : public spi::PendingOperation {
 public:
  Receipt(std::shared_ptr<Board> board, std::shared_ptr<spi::FirstFailure> failure, const Operation& op,
          std::vector<Board::Address> awaited)
      : board_(std::move(board)), failure_(std::move(failure)), op_(op), awaited_(std::move(awaited)) {
    until_ = op.timeout.count() > 0 ? std::chrono::steady_clock::now() + op.timeout : spi::Deadline::max();
  }

 private:
  bool do_poll() override { return do_wait(spi::Deadline::min()); }

  bool do_wait(spi::Deadline until) override {
    const auto missing = board_->missing(awaited_, std::min(until, until_), op_);
    if (missing.empty()) {
      finish();
      return true;
    }
    if (std::chrono::steady_clock::now() < until_) return false;
    std::string late;
    for (const Board::Address& address : missing) late += "; rank " + std::to_string(address.from) + " has not entered";
    const Error error(ErrorCode::timeout, tutti::describe(op_) + " timed out" + late, "minimal");
    (void)failure_->keep(error);
    throw Error(error);
  }

  void finish() {
    auto* output = static_cast<std::byte*>(op_.output);
    if (op_.kind != OpKind::allreduce) {
      for (const Board::Address& address : awaited_) {
        const std::vector<std::byte> bytes = board_->take(address);
        if (bytes.size() != op_.block_bytes()) {
          throw Error(ErrorCode::invalid_usage,
                      tutti::describe(op_) + ": rank " + std::to_string(address.from) + " sent " +
                          std::to_string(bytes.size()) + " bytes",
                      "minimal");
        }
        if (bytes.empty()) continue;
        const auto block = op_.kind == OpKind::allgather ? static_cast<std::size_t>(address.from) : 0;
        std::memcpy(output + block * bytes.size(), bytes.data(), bytes.size());
      }
      return;
    }
    std::vector<float> sums(op_.count, 0.0F);
    for (const Board::Address& address : awaited_) {
      const std::vector<std::byte> bytes = board_->take(address);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
        sums[i] += value;
      }
    }
    if (!sums.empty()) std::memcpy(output, sums.data(), sums.size() * sizeof(float));
  }

  std::shared_ptr<Board> board_;
  std::shared_ptr<spi::FirstFailure> failure_;
  Operation op_;
  std::vector<Board::Address> awaited_;
  spi::Deadline until_;
};

class MinimalCommunicator final : public spi::BackendCommunicator {
 public:
  MinimalCommunicator(std::shared_ptr<Board> board, int rank, int size, std::string reaches)
      : BackendCommunicator(kCapabilities),
        board_(std::move(board)),
        rank_(rank),
        size_(size),
        reaches_(std::move(reaches)),
        sent_(static_cast<std::size_t>(size)),
        received_(static_cast<std::size_t>(size)) {}

 private:
  void do_run(const Operation& op) override { (void)do_start(op)->wait(spi::Deadline::max()); }

  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    if (failure_->has_failed()) failure_->rethrow(tutti::describe(operation));
    Operation op = operation;
    op.input = host_view(op.input);
    op.output = host_view(op.output);
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(op.input),
                                           op.input == nullptr ? 0 : op.block_bytes());
    const auto peer = static_cast<std::size_t>(op.root);
    std::vector<Board::Address> awaited;
    if (op.kind == OpKind::send) {
      board_->post({rank_, op.root, false, sent_[peer]++}, bytes);
    } else if (op.kind == OpKind::recv) {
      awaited.push_back({op.root, rank_, false, received_[peer]++});
    } else {
      for (int other = 0; other < size_; ++other) {
        board_->post({rank_, other, true, collectives_}, bytes);
        awaited.push_back({other, rank_, true, collectives_});
      }
      ++collectives_;
    }
    return std::make_unique<Receipt>(board_, failure_, op, std::move(awaited));
  }

  // The memory of the fake device "threaded" is host memory.
  bool do_may_reach(const Operation& op) const override {
    return reaches_ != "no" && spi::device_runtime(op.where.device).name() == "threaded";
  }
  bool do_reaches(const Operation& op) override { return reaches_ == "yes" && do_may_reach(op); }

  void do_abort() noexcept override { board_->abort(); }

  std::shared_ptr<Board> board_;
  std::shared_ptr<spi::FirstFailure> failure_ = std::make_shared<spi::FirstFailure>();
  int rank_;
  int size_;
  std::string reaches_;
  std::uint64_t collectives_ = 0;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
};

spi::Probe probe(const spi::ProbeContext& context) {
  spi::Probe result{.reason = {}, .version = "1", .preference = -1000, .capabilities = kCapabilities};
  result.usable = context.peers == nullptr || context.peers->same_process;
  result.reason = result.usable ? "ranks are threads" : "the ranks are not threads of one process";
  return result;
}

std::unique_ptr<spi::BackendCommunicator> create(const spi::CreateContext& context) {
  const std::string name = context.rendezvous.broadcast("board", context.peers.rank == 0 ? make_secret() : "", 0);
  auto board = Board::named(name);
  // All ranks must hold the board before the first may release it.
  context.rendezvous.barrier("board");
  return std::make_unique<MinimalCommunicator>(std::move(board), context.peers.rank, context.peers.size,
                                               context.config.text("TUTTI_MINIMAL_REACHES"));
}

constexpr std::array kSettings = {Setting{.name = "TUTTI_MINIMAL_REACHES",
                                          .default_value = "no",
                                          .kind = SettingKind::choice,
                                          .help =
                                              "Uses memory of the fake device \"threaded\" directly. perhaps: claims "
                                              "so at first, but then does not.",
                                          .choices = "no|yes|perhaps"}};

constexpr spi::BackendModule kModule = {.name = "minimal",
                                        .variant = {},
                                        .description = "fake with the minimum of operations",
                                        .settings = kSettings,
                                        .probe = probe,
                                        .create = create};

}  // namespace
}  // namespace tutti::test

extern "C" TUTTI_API const tutti::spi::BackendModule* tutti_backend_module() { return &tutti::test::kModule; }
