#include "level_zero_host_event.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti::sycl_device {

namespace {

struct Functions {
  spi::VendorFunction<decltype(&zeEventPoolCreate)> create_pool{"level_zero", "zeEventPoolCreate"};
  spi::VendorFunction<decltype(&zeEventPoolDestroy)> destroy_pool{"level_zero", "zeEventPoolDestroy"};
  spi::VendorFunction<decltype(&zeEventCreate)> create{"level_zero", "zeEventCreate"};
  spi::VendorFunction<decltype(&zeEventDestroy)> destroy{"level_zero", "zeEventDestroy"};
  spi::VendorFunction<decltype(&zeEventHostSignal)> set{"level_zero", "zeEventHostSignal"};
  spi::VendorFunction<decltype(&zeEventHostReset)> unset{"level_zero", "zeEventHostReset"};
  spi::VendorFunction<decltype(&zeDeviceGetCommandQueueGroupProperties)> get_queue_groups{
      "level_zero", "zeDeviceGetCommandQueueGroupProperties"};
  bool are_there = false;

  static const Functions& instance() {
    static const Functions functions;
    return functions;
  }

 private:
  Functions() {
    // Only the loader that the SYCL runtime has loaded: another one would not know its contexts.
    void* library = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return;
    const auto look_up = [&]<typename Function>(spi::VendorFunction<Function>& function) {
      function.set(reinterpret_cast<Function>(dlsym(library, function.name().data())));
      return static_cast<bool>(function);
    };
    are_there = look_up(create_pool) && look_up(destroy_pool) && look_up(create) && look_up(destroy) && look_up(set) &&
                look_up(unset) && look_up(get_queue_groups);
  }
};

template <typename Function, typename... Arguments>
void call_native(const Function& function, Arguments... arguments) {
  const ze_result_t result = function(arguments...);
  if (result == ZE_RESULT_SUCCESS) return;
  throw Error(ErrorCode::backend_failure, std::string(function.name()) + " failed with " + std::to_string(result),
              "sycl", result);
}

}  // namespace

bool HostEvent::is_possible(ze_device_handle_t device) {
  const Functions& functions = Functions::instance();
  if (!functions.are_there) return false;
  std::uint32_t count = 0;
  call_native(functions.get_queue_groups, device, &count, nullptr);
  std::vector<ze_command_queue_group_properties_t> groups(count);
  for (auto& group : groups) group.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES;
  if (count > 0) call_native(functions.get_queue_groups, device, &count, groups.data());
  return std::ranges::any_of(groups, [](const ze_command_queue_group_properties_t& group) {
    return (group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY) != 0 &&
           (group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) == 0;
  });
}

HostEvent::HostEvent(ze_context_handle_t context, ze_device_handle_t device) {
  const Functions& functions = Functions::instance();
  ze_event_pool_desc_t pool = {};
  pool.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
  pool.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
  pool.count = 1;
  call_native(functions.create_pool, context, &pool, 1U, &device, &pool_);
  ze_event_desc_t event = {};
  event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
  event.signal = ZE_EVENT_SCOPE_FLAG_HOST;
  event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
  try {
    call_native(functions.create, pool_, &event, &event_);
  } catch (const Error&) {
    (void)functions.destroy_pool(pool_);
    throw;
  }
}

HostEvent::~HostEvent() {
  (void)Functions::instance().destroy(event_);
  (void)Functions::instance().destroy_pool(pool_);
}

void HostEvent::set() noexcept { (void)Functions::instance().set(event_); }

void HostEvent::unset() { call_native(Functions::instance().unset, event_); }

}  // namespace tutti::sycl_device
