#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

/// Shared memory of the ranks of a communicator.
namespace tutti::test::fake_nccl {

inline constexpr int kMaxRanks = 16;

/// Ring buffer for bytes from one rank to another.
class Ring {
 public:
  /// Writes as many bytes as there is room for; returns their number.
  std::size_t write(const std::byte* data, std::size_t bytes) noexcept;
  std::size_t read(std::byte* data, std::size_t bytes) noexcept;

 private:
  static constexpr std::size_t kCapacity = std::size_t{32} << 10;
  alignas(64) std::atomic<std::uint64_t> written_;
  alignas(64) std::atomic<std::uint64_t> read_;
  alignas(64) std::array<std::byte, kCapacity> data_;
};

/// Data of a rank. The initial state is all zeros.
struct Member {
  std::array<char, 32> device;  ///< PCI address of its GPU
};

class Segment {
 public:
  /// Throws std::runtime_error.
  Segment(const std::string& name, int ranks);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// Registers a rank. The last rank removes the name, so that no file is left when a rank dies later.
  void join(int rank, const std::string& device);
  [[nodiscard]] bool is_complete() const noexcept;
  [[nodiscard]] const Member& member(int rank) const noexcept {
    return header_->members[static_cast<std::size_t>(rank)];
  }
  /// Collectives and messages have separate rings.
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
