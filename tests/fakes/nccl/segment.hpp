#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

/// The memory that the ranks of a communicator share.
namespace tutti::test::fake_nccl {

inline constexpr int kMaxRanks = 16;

/// Bytes on their way from one rank to another, in order.
class Ring {
 public:
  /// As many as there is room for; returns how many.
  std::size_t write(const std::byte* data, std::size_t bytes) noexcept;
  std::size_t read(std::byte* data, std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t kCapacity = std::size_t{32} << 10;
  alignas(64) std::atomic<std::uint64_t> written_;
  alignas(64) std::atomic<std::uint64_t> read_;
  alignas(64) std::array<std::byte, kCapacity> data_;
};

/// Zeros are its first state.
struct Member {
  std::array<char, 32> device;  ///< its address on the bus
};

class Segment {
 public:
  /// Throws std::runtime_error.
  Segment(const std::string& name, int ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// Says who this is. The last one removes the name: nothing is left when a rank dies.
  void join(int rank, const std::string& device);
  [[nodiscard]] bool is_complete() const noexcept;
  [[nodiscard]] const Member& member(int rank) const noexcept {
    return header_->members[static_cast<std::size_t>(rank)];
  }
  /// Collectives and messages of pairs do not meet: they have rings of their own.
  [[nodiscard]] Ring& ring(bool is_message, int from, int to) noexcept;

 private:
  struct Header {
    std::atomic<int> joined;
    std::array<Member, kMaxRanks> members;
  };

  std::string name_;
  int ranks_;
  std::size_t bytes_;
  Header* header_ = nullptr;
  Ring* rings_ = nullptr;
};

}  // namespace tutti::test::fake_nccl
