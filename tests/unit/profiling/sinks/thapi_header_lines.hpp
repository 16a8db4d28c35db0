#pragma once

#include <array>
#include <string_view>

/// Header lines that users cut from tallies of iprof, each with the name of their run in front, as they noted them.
namespace tutti::profiling::test {

inline constexpr std::array<std::string_view, 6> kThapiHeaderLines = {
    "CCL BACKEND_ZE | 1 Hostnames | 36 Processes | 57 Threads |",
    "HVD BACKEND_ZE | 1 Hostnames | 36 Processes | 72 Threads |                   ( creates more threads)",
    "MPI4py BACKEND_ZE | 1 Hostnames | 36 Processes | 36 Threads |",
    "CCL Device profiling | 1 Hostnames | 12 Processes | 24 Threads | 6 Devices | 12 Subdevices |",
    "HVD Device profiling | 1 Hostnames | 12 Processes | 36 Threads | 6 Devices | 12 Subdevices |",
    "MPI4py Device profiling | 1 Hostnames | 12 Processes | 12 Threads | 6 Devices | 13 Subdevices |"};

}  // namespace tutti::profiling::test
