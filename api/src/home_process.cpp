#include "tutti/spi/home_process.hpp"

#include <pthread.h>

#include <atomic>

namespace tutti::spi {
namespace {

constinit std::atomic<std::uint32_t> generation{0};

/// Registers the handler before any object can ask for the generation.
[[maybe_unused]] const int registered =
    pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace tutti::spi
