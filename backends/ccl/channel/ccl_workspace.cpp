#include "channel/ccl_workspace.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::ccl {
namespace {

constexpr std::string_view kOwner = "ccl";
// Bounds the memory of an application that creates a context per call.
constexpr std::size_t kMostKept = 8;

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Workspace::Workspace(const Stream& beside)
    : own_(spi::device_runtime(beside.device()).make_stream(beside)),
      runtime_(&spi::device_runtime(beside.device())),
      number_(next_number()) {
  pool_.emplace(*runtime_, stream(), kOwner);
}

Workspace::~Workspace() {
  release(input_);
  release(output_);
}

void Workspace::copy(void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  if (is_host()) return spi::copy(to, from, bytes, false);
  const Memory where{stream().device(), MemoryKind::device};
  // The time of the copy is reported as part of the operation.
  (void)runtime_->copy(stream(), Buffer(to, bytes, DataType::uint8, where),
                       ConstBuffer(from, bytes, DataType::uint8, where));
  is_copying_ = true;
}

void Workspace::settle() {
  if (!is_copying_) return;
  is_copying_ = false;
  runtime_->record(stream())->wait();
}

std::byte* Workspace::grow(Scratch& scratch, std::uint64_t bytes) {
  if (bytes <= scratch.bytes) return scratch.data;
  release(scratch);
  if (is_host()) {
    scratch.data = static_cast<std::byte*>(::operator new(bytes));
    spi::report_allocation(kOwner, scratch.data, bytes);
  } else {
    scratch.data = static_cast<std::byte*>(runtime_->allocate(stream(), MemoryKind::device, bytes, kOwner));
  }
  scratch.bytes = bytes;
  return scratch.data;
}

void Workspace::release(Scratch& scratch) noexcept {
  if (scratch.data == nullptr) return;
  if (is_host()) {
    spi::report_free(kOwner, scratch.data, scratch.bytes);
    ::operator delete(scratch.data);
  } else {
    try {
      runtime_->record(stream())->wait();  // enqueued operations may still use it
    } catch (const Error&) {               // NOLINT: the operations failed, so they no longer use it
    }
    runtime_->release(stream(), scratch.data, MemoryKind::device, scratch.bytes, kOwner);
  }
  scratch = {};
}

std::shared_ptr<Workspace> Workspaces::beside(const Stream& stream) {
  const std::uint64_t key = spi::device_runtime(stream.device()).context_key(stream);
  const auto known = std::ranges::find(known_, key, &Known::key);
  if (known != known_.end()) return known->workspace;
  if (known_.size() == kMostKept) known_.erase(known_.begin());
  return known_.emplace_back(Known{key, std::make_shared<Workspace>(stream)}).workspace;
}

}  // namespace tutti::ccl
