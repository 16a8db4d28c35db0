#include "function_table.hpp"

#include <array>

namespace tutti::profiling {

namespace {

/// Last version whose urEnqueueKernelLaunch has the arguments of the table.
constexpr unsigned kOldLaunchVersion = 11;

constexpr std::array kLayouts = {
    FunctionLayout{.name = "urUSMHostAlloc", .role = Role::allocation, .bytes = 3, .to = 4, .place = 'H'},
    FunctionLayout{
        .name = "urUSMDeviceAlloc", .role = Role::allocation, .device = 1, .bytes = 4, .to = 5, .place = 'D'},
    FunctionLayout{
        .name = "urUSMSharedAlloc", .role = Role::allocation, .device = 1, .bytes = 4, .to = 5, .place = 'S'},
    FunctionLayout{.name = "urUSMFree", .role = Role::release, .from = 1},
    FunctionLayout{
        .name = "urEnqueueUSMDeviceAllocExp", .role = Role::allocation, .queue = 0, .bytes = 2, .to = 6, .place = 'D'},
    FunctionLayout{
        .name = "urEnqueueUSMSharedAllocExp", .role = Role::allocation, .queue = 0, .bytes = 2, .to = 6, .place = 'S'},
    FunctionLayout{
        .name = "urEnqueueUSMHostAllocExp", .role = Role::allocation, .queue = 0, .bytes = 2, .to = 6, .place = 'H'},
    FunctionLayout{.name = "urEnqueueUSMFreeExp", .role = Role::release, .from = 2},

    FunctionLayout{
        .name = "urEnqueueUSMMemcpy", .role = Role::copy, .queue = 0, .bytes = 4, .to = 2, .from = 3, .event = 7},
    FunctionLayout{.name = "urEnqueueUSMMemcpy2D",
                   .role = Role::copy,
                   .queue = 0,
                   .bytes = 6,
                   .rows = 7,
                   .to = 2,
                   .from = 4,
                   .event = 10},
    FunctionLayout{.name = "urEnqueueUSMFill", .role = Role::fill, .queue = 0, .bytes = 4, .to = 1, .event = 7},
    FunctionLayout{
        .name = "urEnqueueUSMFill2D", .role = Role::fill, .queue = 0, .bytes = 5, .rows = 6, .to = 1, .event = 9},
    FunctionLayout{.name = "urEnqueueUSMPrefetch", .role = Role::prefetch, .queue = 0, .bytes = 2, .to = 1, .event = 6},
    FunctionLayout{.name = "urEnqueueMemBufferRead", .role = Role::copy, .queue = 0, .bytes = 4, .to = 5, .event = 8},
    FunctionLayout{
        .name = "urEnqueueMemBufferWrite", .role = Role::copy, .queue = 0, .bytes = 4, .from = 5, .event = 8},
    FunctionLayout{.name = "urEnqueueMemBufferCopy", .role = Role::copy, .queue = 0, .bytes = 5, .event = 8},
    FunctionLayout{.name = "urEnqueueMemBufferFill", .role = Role::fill, .queue = 0, .bytes = 5, .event = 8},

    // Version 0.12 put arguments before the event; find_layout() leaves the event out there.
    FunctionLayout{.name = "urEnqueueKernelLaunch", .role = Role::launch, .queue = 0, .event = 8, .kernel = 1},
    FunctionLayout{
        .name = "urEnqueueKernelLaunchWithArgsExp", .role = Role::launch, .queue = 0, .event = 11, .kernel = 1},

    FunctionLayout{.name = "urQueueCreate", .role = Role::queue_creation, .queue = 3, .device = 1},
    FunctionLayout{.name = "urQueueRelease", .role = Role::queue_release, .queue = 0},
    FunctionLayout{.name = "urKernelCreate", .role = Role::kernel_creation, .from = 1, .kernel = 2},
    FunctionLayout{.name = "urDevicePartition", .role = Role::device_partition, .device = 0},

    FunctionLayout{.name = "urEventWait", .role = Role::event_wait},
    FunctionLayout{.name = "urEventRelease", .role = Role::event_release},
    FunctionLayout{.name = "urQueueFinish", .role = Role::wait},
    FunctionLayout{.name = "urAdapterRelease", .role = Role::shutdown},
    FunctionLayout{.name = "urLoaderTearDown", .role = Role::shutdown},
};

}  // namespace

FunctionLayout find_layout(std::string_view function, unsigned version) noexcept {
  for (FunctionLayout layout : kLayouts) {
    if (layout.name != function) continue;
    if (function == "urEnqueueKernelLaunch" && version > kOldLaunchVersion) layout.event = -1;
    return layout;
  }
  return {};
}

bool is_query(std::string_view function) noexcept {
  for (const std::string_view part : {"GetInfo", "GetGroupInfo", "GetSubGroupInfo", "GetProfilingInfo",
                                      "urKernelSetArg", "GetMemAllocInfo", "GetGlobalTimestamps"}) {
    if (function.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace tutti::profiling
