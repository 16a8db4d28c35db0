#include "machine.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "fake_cudart.hpp"

namespace tutti::test::fake_cuda {

namespace {

/// Physical numbers of the devices in CUDA_VISIBLE_DEVICES; the first invalid number ends the list.
std::vector<int> visible_devices(int count) {
  std::vector<int> result;
  const char* mask = std::getenv("CUDA_VISIBLE_DEVICES");
  if (mask == nullptr) {
    for (int i = 0; i < count; ++i) result.push_back(i);
    return result;
  }
  std::istringstream words(mask);
  for (std::string word; std::getline(words, word, ',');) {
    char* end = nullptr;
    const long number = std::strtol(word.c_str(), &end, 10);
    if (word.empty() || *end != '\0' || number < 0 || number >= count) break;
    result.push_back(static_cast<int>(number));
  }
  return result;
}

/// Fails the process if its violations were not taken.
__attribute__((destructor)) void report_violations() {
  const auto violations = Machine::instance().take_violations();
  if (violations.empty()) return;
  std::fflush(nullptr);
  for (const std::string& text : violations) std::fprintf(stderr, "fake CUDA: violation: %s\n", text.c_str());
  _exit(86);
}

}  // namespace

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::atoi(text);
}

Machine& Machine::instance() {
  static auto* machine = new Machine;
  return *machine;
}

Machine::Machine() : driver_version_(setting("FAKE_CUDA_DRIVER", kRuntimeVersion)) {
  if (driver_version_ < kRuntimeVersion) {
    status_ = cudaErrorInsufficientDriver;
    return;
  }
  for (const int physical : visible_devices(setting("FAKE_CUDA_DEVICES", 2))) {
    auto* device = new Device;
    device->physical = physical;
    device->context.device = static_cast<int>(devices_.size());
    devices_.push_back(device);
  }
  if (devices_.empty()) status_ = cudaErrorNoDevice;
}

std::string Machine::address(int index) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", 0x0a + 0x10 * device(index).physical);
  return text;
}

std::string Machine::name(int index) { return "fake GPU " + std::to_string(device(index).physical); }

bool Machine::may_be_peers() { return setting("FAKE_CUDA_PEERS", 1) != 0; }

bool Machine::is_peer(int device, int of) {
  const std::scoped_lock lock(mutex_);
  return peers_.contains({device, of});
}

bool Machine::set_peer(int device, int of, bool is_on) {
  const std::scoped_lock lock(mutex_);
  return is_on ? peers_.insert({device, of}).second : peers_.erase({device, of}) == 1;
}

void Machine::record_violation(std::string text) {
  const std::scoped_lock lock(mutex_);
  violations_.push_back(std::move(text));
}

std::vector<std::string> Machine::take_violations() {
  const std::scoped_lock lock(mutex_);
  return std::exchange(violations_, {});
}

ThreadState& this_thread() noexcept {
  thread_local ThreadState state;
  return state;
}

int current_device() noexcept {
  const ThreadState& state = this_thread();
  return state.contexts.empty() || state.contexts.back() == nullptr ? state.device : state.contexts.back()->device;
}

int use_current_device() {
  ThreadState& state = this_thread();
  Device& device = Machine::instance().device(current_device());
  if (state.contexts.empty()) state.contexts.push_back(nullptr);
  if (state.contexts.back() == nullptr) state.contexts.back() = &device.context;
  device.has_context = true;
  return device.context.device;
}

cudaError_t violate(cudaError_t error, std::string text) {
  Machine::instance().record_violation(std::move(text));
  return error;
}

cudaError_t violate_on(int device, cudaError_t error, std::string text) {
  Machine::instance().device(device).failure = error;
  return violate(error, std::move(text));
}

cudaError_t may_call(const char* function, int device) {
  Machine& machine = Machine::instance();
  if (machine.status() != cudaSuccess) return machine.status();
  if (this_thread().is_in_callback) {
    return violate(cudaErrorNotPermitted, std::string(function) + " was called by a host function or a kernel");
  }
  return device < 0 ? cudaSuccess : machine.device(device).failure.load();
}

cudaError_t may_use(const char* function) {
  const cudaError_t error = may_call(function);
  if (error == cudaSuccess) (void)use_current_device();
  return error;
}

std::string hexadecimal(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

}  // namespace tutti::test::fake_cuda

using namespace tutti::test::fake_cuda;

void fake_cuda_violation(const char* text) { Machine::instance().record_violation(text); }

int fake_cuda_take_violations(char* text, std::size_t bytes) {
  const auto violations = Machine::instance().take_violations();
  std::string all;
  for (const std::string& violation : violations) all += violation + "\n";
  if (bytes > 0) std::snprintf(text, bytes, "%s", all.c_str());
  return static_cast<int>(violations.size());
}

void fake_cuda_let_allocations_wait(bool wait) { Machine::instance().lets_allocations_wait = wait; }

void fake_cuda_repair() {
  Machine& machine = Machine::instance();
  for (int i = 0; i < machine.device_count(); ++i) machine.device(i).failure = cudaSuccess;
}
