#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "buffers/device_place.hpp"
#include "buffers/place.hpp"
#include "engine/entry.hpp"
#include "engine/schedule.hpp"
#include "negotiation/fusion.hpp"
#include "negotiation/message.hpp"
#include "timeline/tensor_stages.hpp"
#include "timeline/timeline.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::horovod {

/// Carries out responses over a communicator of the inner backend, one at a time. Not synchronised.
class Executor {
 public:
  struct Options {
    int rank = 0;
    int size = 1;
    std::uint64_t piece_bytes = 0;                      ///< see pieces_of()
    std::size_t adasum_message = std::size_t{1} << 30;  ///< longest message of an Adasum reduction
  };

  /// `data`, `timeline` and `stages` must outlive it.
  Executor(spi::BackendCommunicator& data, const Options& options, Timeline* timeline, TensorStages* stages);

  /// The place of tensors in device memory; outlives the executor. Before the first job with such tensors.
  void set_device(DevicePlace* place) noexcept { device_ = place; }
  /// Prepares a job that has its entries, and cuts it into pieces.
  void begin(Job& job);
  /// Takes a job up that has begun, for advance(). It stays where it is until leave().
  void take_up(Job& job) noexcept;
  enum class Progress : std::uint8_t {
    unfinished,  ///< the time has passed
    paused,      ///< the budget is spent; the job goes on after leave(), allow() and take_up()
    complete,
  };
  /// Carries the job on. Throws the inner backend's Error.
  [[nodiscard]] Progress advance(spi::Deadline until);
  [[nodiscard]] bool is_busy() const noexcept { return job_ != nullptr; }
  void leave() noexcept { job_ = nullptr; }
  /// Sets the budget: about the bytes to process before a pause, and the size of the parts of large tensors. 0: no
  /// limit.
  void allow(std::uint64_t bytes) noexcept {
    partition_ = bytes;
    spent_ = 0;
  }
  [[nodiscard]] bool is_spent() const noexcept { return partition_ > 0 && spent_ >= partition_; }
  /// Gives an operation up that the inner communicator, which has failed, does not complete.
  void drop() noexcept { pending_.reset(); }

 private:
  void start_reduction();
  void finish_reduction();
  void combine_gathered(void* result, std::uint64_t count);
  void start_piece();
  void finish_piece();
  void start_one();
  void start_allgather();
  void finish_allgather();
  void start_alltoall();
  void start_reducescatter();
  void finish_reducescatter();
  [[nodiscard]] const void* pack_by_rank(const Piece& piece);
  [[nodiscard]] Entry* only() const;
  [[nodiscard]] const Piece& piece() const { return job_->pieces[job_->piece]; }
  [[nodiscard]] const std::vector<EntryPointer>& entries() const { return *job_->entries; }
  [[nodiscard]] std::uint64_t count_in(const Piece& piece, std::size_t tensor) const;
  [[nodiscard]] std::span<const EntryPointer> tensors_of_piece() const;
  [[nodiscard]] const Entry* direct(const Piece& piece) const;
  void give_back(std::size_t tensor, const std::byte* result, std::uint64_t first, std::uint64_t count);
  [[nodiscard]] const void* gather_input(const Piece& piece);
  void start_allreduce(const void* input, void* output, std::uint64_t count);
  void scale_result(void* data, std::uint64_t count);
  void* give_output(Entry& entry, std::uint64_t elements);
  void start(Operation operation);
  void run_adasum();
  void show(std::string_view activity);
  void report() noexcept;

  spi::BackendCommunicator& data_;
  Options options_;
  Timeline* timeline_;
  TensorStages* stages_;
  HostPlace host_;
  DevicePlace* device_ = nullptr;
  Place* place_ = &host_;  ///< of the job
  Job* job_ = nullptr;
  std::uint64_t partition_ = 0;
  std::uint64_t spent_ = 0;
  std::unique_ptr<spi::PendingOperation> pending_;
  // For the observer.
  std::uint64_t begin_ns_ = 0;  ///< 0: there was no observer at the begin
  OpKind pending_kind_ = OpKind::allreduce;
  std::uint64_t pending_bytes_ = 0;
  bool by_gathering_ = false;  ///< the inner backend lacks the reduction
  bool reduces_all_ = false;   ///< a reducescatter is carried out as an allreduce
  std::vector<std::uint64_t> input_counts_;
  std::vector<std::uint64_t> output_counts_;
};

/// An operation of the inner backend with the facts of a response.
[[nodiscard]] Operation operation_of(OpKind kind, const Response& response);

}  // namespace tutti::horovod
