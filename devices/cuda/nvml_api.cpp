#include "nvml_api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tutti::cuda_device {

namespace {

constexpr int kSuccess = 0;
constexpr unsigned kMaxLinks = 18;
constexpr unsigned kSwitch = 2;

/// Bandwidth of a link in one direction by NVML's number of its version: none, 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0.
constexpr std::array kLinkGbPerS = {0.0, 20.0, 25.0, 25.0, 25.0, 25.0, 25.0, 50.0};

}  // namespace

// NVML's header is in no package that tutti needs otherwise; these structures have not changed since CUDA 9.
struct Nvml::Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Nvml::PciInfo {
  std::array<char, 16> legacy_address;
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned vendor_and_device;
  unsigned subsystem;
  std::array<char, 32> address;
};

std::string canonical_address(std::string address) {
  for (char& letter : address) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  constexpr std::size_t kDomainDigits = 4;
  const std::size_t colon = address.find(':');
  if (colon != std::string::npos && colon > kDomainDigits) address.erase(0, colon - kDomainDigits);
  return address;
}

Nvml::Nvml() {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto look_up = [&]<typename Function>(spi::VendorFunction<Function>& function) {
    function.set(reinterpret_cast<Function>(dlsym(library, function.name().data())));
    return static_cast<bool>(function);
  };
  const bool has_all = look_up(init_) && look_up(driver_version_) && look_up(get_handle_) && look_up(get_memory_) &&
                       look_up(link_state_) && look_up(link_version_) && look_up(link_remote_pci_);
  (void)look_up(link_remote_type_);  // optional, newer than the others
  is_there_ = has_all && init_() == kSuccess;
}

std::string Nvml::driver_version() const {
  std::array<char, 96> text = {};
  if (!is_there_ || driver_version_(text.data(), text.size()) != kSuccess) return {};
  return text.data();
}

Nvml::Handle Nvml::find(const std::string& address) const {
  Handle handle = nullptr;
  return is_there_ && get_handle_(address.c_str(), &handle) == kSuccess ? handle : nullptr;
}

std::uint64_t Nvml::free_bytes(const std::string& address) const {
  Handle device = find(address);
  Memory memory = {};
  return device != nullptr && get_memory_(device, &memory) == kSuccess ? memory.free : 0;
}

std::vector<Nvml::Link> Nvml::links(const std::string& address) const {
  std::vector<Link> result;
  Handle device = find(address);
  if (device == nullptr) return result;
  for (unsigned number = 0; number < kMaxLinks; ++number) {
    int is_up = 0;
    if (link_state_(device, number, &is_up) != kSuccess || is_up == 0) continue;
    Link link;
    unsigned version = 0;
    if (link_version_(device, number, &version) == kSuccess && version < kLinkGbPerS.size()) {
      link.gb_per_s = kLinkGbPerS[version];
    }
    unsigned type = 0;
    link.is_to_switch = link_remote_type_ && link_remote_type_(device, number, &type) == kSuccess && type == kSwitch;
    PciInfo other = {};
    if (!link.is_to_switch) {
      if (link_remote_pci_(device, number, &other) != kSuccess) continue;
      link.address = canonical_address(other.address.data());
    }
    result.push_back(std::move(link));
  }
  return result;
}

}  // namespace tutti::cuda_device
