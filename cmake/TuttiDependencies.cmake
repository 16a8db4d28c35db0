# Finds the dependencies. All but Threads are optional: a missing one disables a feature and is no configure error.
#
# Per library: a target tutti_deps::<name> and TUTTI_HAVE_<NAME> for highway, hwloc, fmt, cli11, json, eigen,
# protozero, gtest, gmock and benchmark.
# Per MPI ABI: the folder of mpi.h in TUTTI_OPENMPI_INCLUDE_DIR and TUTTI_MPICH_INCLUDE_DIR, empty if absent. The
# modules are compiled with the header of their ABI and open libmpi at run time, so only the headers are searched.
# CMake's FindMPI is not used, because it supports one MPI per build.
# Level Zero: the headers as tutti_deps::level_zero if present; see devices/level_zero.
# oneCCL: the folder of oneapi/ccl.hpp in TUTTI_ONECCL_INCLUDE_DIR, empty if absent; see backends/ccl.
# Perfetto: a Python environment that decodes traces, for a test, in TUTTI_PERFETTO_ROOT.
# mpi4py: a Python environment with it and, in the folder source, its tests, in TUTTI_MPI4PY_ROOT.
# Horovod: a folder with its Python sources in the folder source, for a test, in TUTTI_HOROVOD_ROOT.
# Chart.js: its minified file in TUTTI_CHART_JS, false if absent; see tools/CMakeLists.txt.
# CUDA: the folders of cuda_runtime_api.h and libcudart in TUTTI_CUDA_INCLUDE_DIR and TUTTI_CUDA_LIBRARY_DIR, empty if
# absent, and tutti_deps::cuda_headers; the same for NCCL and CUPTI.

include_guard()
find_package(Threads REQUIRED)

set(TUTTI_INTEL_MPI_ROOT "" CACHE PATH "Folder of Intel MPI (with include/, lib/ and bin/), empty if there is none")
set(TUTTI_ONECCL_ROOT "" CACHE PATH "Folder of oneCCL (with include/ and lib/), empty if there is none")
set(TUTTI_MPI4PY_ROOT "" CACHE PATH "Python environment with mpi4py and its tests, empty if there is none")
set(TUTTI_HOROVOD_ROOT "" CACHE PATH "Folder with the sources of Horovod in the folder source, empty if there is none")
set(TUTTI_PERFETTO_ROOT "" CACHE PATH "Python environment with perfetto's trace format, empty if there is none")
set(TUTTI_CUDA_ROOT "" CACHE PATH "Folder of CUDA 13 and NCCL (a toolkit or its wheels), empty: /usr/local/cuda")

# tutti_dependency(name package target...): uses the first of the targets that the package defines.
function(tutti_dependency name package)
  find_package(${package} CONFIG QUIET)
  string(TOUPPER ${name} upper)
  set(have OFF)
  foreach(candidate IN LISTS ARGN)
    if(TARGET ${candidate} AND NOT have)
      set(have ON)
      if(NOT TARGET tutti_deps::${name})
        add_library(tutti_deps_${name} INTERFACE)
        target_link_libraries(tutti_deps_${name} INTERFACE ${candidate})
        add_library(tutti_deps::${name} ALIAS tutti_deps_${name})
      endif()
    endif()
  endforeach()
  set(TUTTI_HAVE_${upper} ${have} PARENT_SCOPE)
  set(TUTTI_VERSION_${upper} "${${package}_VERSION}" PARENT_SCOPE)
endfunction()

tutti_dependency(highway hwy hwy::hwy)
tutti_dependency(fmt fmt fmt::fmt)
tutti_dependency(cli11 CLI11 CLI11::CLI11)
tutti_dependency(json nlohmann_json nlohmann_json::nlohmann_json)
tutti_dependency(eigen Eigen3 Eigen3::Eigen)
tutti_dependency(gtest GTest GTest::gtest)
tutti_dependency(gmock GTest GTest::gmock)
tutti_dependency(benchmark benchmark benchmark::benchmark)

# Dependencies that the tutti command requires.
set(TUTTI_HAVE_TOOL_DEPENDENCIES OFF)
if(TUTTI_HAVE_CLI11 AND TUTTI_HAVE_JSON AND TUTTI_HAVE_FMT)
  set(TUTTI_HAVE_TOOL_DEPENDENCIES ON)
endif()

# hwloc ships no CMake package.
find_path(TUTTI_HWLOC_INCLUDE_DIR hwloc.h)
find_library(TUTTI_HWLOC_LIBRARY hwloc)
mark_as_advanced(TUTTI_HWLOC_INCLUDE_DIR TUTTI_HWLOC_LIBRARY)
set(TUTTI_HAVE_HWLOC OFF)
set(TUTTI_VERSION_HWLOC "")
if(TUTTI_HWLOC_INCLUDE_DIR AND TUTTI_HWLOC_LIBRARY)
  set(TUTTI_HAVE_HWLOC ON)
  if(NOT TARGET tutti_deps::hwloc)
    # On some systems its configuration header is in a folder per architecture, which is a default path only in /usr.
    find_path(TUTTI_HWLOC_CONFIG_DIR hwloc/autogen/config.h)
    mark_as_advanced(TUTTI_HWLOC_CONFIG_DIR)
    add_library(tutti_deps::hwloc UNKNOWN IMPORTED)
    set_target_properties(tutti_deps::hwloc PROPERTIES
      IMPORTED_LOCATION "${TUTTI_HWLOC_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES "${TUTTI_HWLOC_INCLUDE_DIR};${TUTTI_HWLOC_CONFIG_DIR}")
  endif()
  if(TUTTI_HWLOC_CONFIG_DIR)
    file(STRINGS "${TUTTI_HWLOC_CONFIG_DIR}/hwloc/autogen/config.h" line REGEX "define HWLOC_VERSION ")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" TUTTI_VERSION_HWLOC "${line}")
  endif()
endif()

# protozero: headers only, without a CMake package.
find_path(TUTTI_PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp)
mark_as_advanced(TUTTI_PROTOZERO_INCLUDE_DIR)
set(TUTTI_HAVE_PROTOZERO OFF)
set(TUTTI_VERSION_PROTOZERO "")
if(TUTTI_PROTOZERO_INCLUDE_DIR)
  set(TUTTI_HAVE_PROTOZERO ON)
  if(NOT TARGET tutti_deps::protozero)
    add_library(tutti_deps_protozero INTERFACE)
    add_library(tutti_deps::protozero ALIAS tutti_deps_protozero)
    target_include_directories(tutti_deps_protozero SYSTEM INTERFACE "${TUTTI_PROTOZERO_INCLUDE_DIR}")
  endif()
  file(STRINGS "${TUTTI_PROTOZERO_INCLUDE_DIR}/protozero/version.hpp" line REGEX "define PROTOZERO_VERSION_STRING ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" TUTTI_VERSION_PROTOZERO "${line}")
endif()

# Level Zero: the headers. Its loader is opened at run time and linked only by tests that use Level Zero themselves.
find_path(TUTTI_LEVEL_ZERO_INCLUDE_DIR level_zero/ze_api.h)
find_library(TUTTI_LEVEL_ZERO_LOADER ze_loader)
mark_as_advanced(TUTTI_LEVEL_ZERO_INCLUDE_DIR TUTTI_LEVEL_ZERO_LOADER)
if(TUTTI_LEVEL_ZERO_INCLUDE_DIR AND NOT TARGET tutti_deps::level_zero)
  add_library(tutti_deps_level_zero INTERFACE)
  add_library(tutti_deps::level_zero ALIAS tutti_deps_level_zero)
  target_include_directories(tutti_deps_level_zero SYSTEM INTERFACE "${TUTTI_LEVEL_ZERO_INCLUDE_DIR}")
  if(TUTTI_LEVEL_ZERO_LOADER)
    add_library(tutti_deps_level_zero_loader INTERFACE)
    add_library(tutti_deps::level_zero_loader ALIAS tutti_deps_level_zero_loader)
    target_link_libraries(tutti_deps_level_zero_loader INTERFACE tutti_deps_level_zero "${TUTTI_LEVEL_ZERO_LOADER}")
  endif()
endif()

# tutti_find_mpi_header(variable marker hints...): sets the variable to the first hint whose mpi.h defines the marker of
# the ABI; a folder such as /usr/include may hold the header of either ABI.
function(tutti_find_mpi_header variable marker)
  if(${variable} AND EXISTS "${${variable}}/mpi.h")
    return()
  endif()
  set(found "")
  foreach(hint IN LISTS ARGN)
    if(NOT found AND EXISTS "${hint}/mpi.h")
      file(STRINGS "${hint}/mpi.h" lines REGEX "define[ \t]+${marker}" LIMIT_COUNT 1)
      if(lines)
        set(found "${hint}")
      endif()
    endif()
  endforeach()
  set(${variable} "${found}" CACHE PATH "Folder with the mpi.h of this ABI, empty if there is none" FORCE)
endfunction()

# Header folders of distributions and manual installations, with and without a folder per architecture.
set(prefixes ${CMAKE_PREFIX_PATH} $ENV{CMAKE_PREFIX_PATH} ${CMAKE_SYSTEM_PREFIX_PATH})
string(REPLACE ":" ";" prefixes "${prefixes}")
set(openmpi_hints "")
set(mpich_hints "")
set(intel_mpi_hints "")
if(TUTTI_INTEL_MPI_ROOT)
  set(intel_mpi_hints "${TUTTI_INTEL_MPI_ROOT}/include")
endif()
foreach(prefix IN LISTS prefixes)
  foreach(arch IN ITEMS ${CMAKE_LIBRARY_ARCHITECTURE} "")
    list(APPEND openmpi_hints "${prefix}/lib/${arch}/openmpi/include" "${prefix}/include/openmpi"
                              "${prefix}/include/openmpi-${arch}")
    list(APPEND mpich_hints "${prefix}/include/${arch}/mpich" "${prefix}/include/mpich"
                            "${prefix}/include/mpich-${arch}")
  endforeach()
  list(APPEND openmpi_hints "${prefix}/include")
  list(APPEND mpich_hints "${prefix}/include")
endforeach()

# The compiler wrapper knows the header folder of an installation outside the usual places.
find_program(TUTTI_OPENMPI_WRAPPER NAMES mpicc.openmpi mpicc)
mark_as_advanced(TUTTI_OPENMPI_WRAPPER)
if(TUTTI_OPENMPI_WRAPPER)
  execute_process(COMMAND "${TUTTI_OPENMPI_WRAPPER}" --showme:incdirs
    OUTPUT_VARIABLE directories OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    separate_arguments(directories UNIX_COMMAND "${directories}")
    list(APPEND openmpi_hints ${directories})
  endif()
endif()

tutti_find_mpi_header(TUTTI_OPENMPI_INCLUDE_DIR OMPI_MAJOR_VERSION ${openmpi_hints})
tutti_find_mpi_header(TUTTI_MPICH_INCLUDE_DIR MPICH_NUMVERSION ${mpich_hints} ${intel_mpi_hints})

# oneCCL's own packages have no CMake files; its environment script sets CCL_ROOT.
set(TUTTI_ONECCL_INCLUDE_DIR "")
foreach(hint IN ITEMS "${TUTTI_ONECCL_ROOT}" "$ENV{CCL_ROOT}")
  if(NOT TUTTI_ONECCL_INCLUDE_DIR AND hint AND EXISTS "${hint}/include/oneapi/ccl.hpp")
    set(TUTTI_ONECCL_INCLUDE_DIR "${hint}/include")
  endif()
endforeach()

# tutti_find_cuda(name header library hints...): sets TUTTI_<name>_INCLUDE_DIR and _LIBRARY_DIR to those of the first hint
# that has both files, and defines the target tutti_deps::<name>_headers, in lower case.
function(tutti_find_cuda name header library)
  set(TUTTI_${name}_INCLUDE_DIR "" PARENT_SCOPE)
  set(TUTTI_${name}_LIBRARY_DIR "" PARENT_SCOPE)
  foreach(hint IN LISTS ARGN)
    if(EXISTS "${hint}/include/${header}" AND EXISTS "${hint}/lib/${library}")
      set(TUTTI_${name}_INCLUDE_DIR "${hint}/include" PARENT_SCOPE)
      set(TUTTI_${name}_LIBRARY_DIR "${hint}/lib" PARENT_SCOPE)
      string(TOLOWER ${name} lower)
      if(NOT TARGET tutti_deps::${lower}_headers)
        add_library(tutti_deps_${lower}_headers INTERFACE)
        add_library(tutti_deps::${lower}_headers ALIAS tutti_deps_${lower}_headers)
        target_include_directories(tutti_deps_${lower}_headers SYSTEM INTERFACE "${hint}/include")
      endif()
      return()
    endif()
  endforeach()
endfunction()

# A toolkit has everything in one folder, wheels have a folder each. The toolkit's lib64 is a link to its lib.
set(cuda_hints "")
set(nccl_hints "")
foreach(root IN ITEMS "${TUTTI_CUDA_ROOT}" "$ENV{CUDA_HOME}" /usr/local/cuda)
  if(root)
    file(GLOB wheels LIST_DIRECTORIES ON "${root}/lib/python3*/site-packages/nvidia")
    list(APPEND cuda_hints "${root}" ${wheels})
    list(APPEND nccl_hints "${root}" ${wheels})
  endif()
endforeach()
list(TRANSFORM cuda_hints APPEND "/cu13" REGEX "/nvidia$")
list(TRANSFORM nccl_hints APPEND "/nccl" REGEX "/nvidia$")
tutti_find_cuda(CUDA crt/host_defines.h libcudart.so.13 ${cuda_hints})
tutti_find_cuda(NCCL nccl.h libnccl.so.2 ${nccl_hints})
tutti_find_cuda(CUPTI cupti.h libcupti.so.13 ${cuda_hints})

# Chart.js: one file, which the HTML report embeds.
set(chart_folders ${prefixes})
list(TRANSFORM chart_folders APPEND "/share/javascript/chart.js")
find_file(TUTTI_CHART_JS chart.min.js PATHS ${chart_folders} NO_DEFAULT_PATH)
mark_as_advanced(TUTTI_CHART_JS)

# NVTX: headers only.
find_path(TUTTI_NVTX_INCLUDE_DIR nvtx3/nvToolsExt.h HINTS ${cuda_hints} PATH_SUFFIXES include)
mark_as_advanced(TUTTI_NVTX_INCLUDE_DIR)
if(TUTTI_NVTX_INCLUDE_DIR AND NOT TARGET tutti_deps::nvtx)
  add_library(tutti_deps_nvtx INTERFACE)
  add_library(tutti_deps::nvtx ALIAS tutti_deps_nvtx)
  target_include_directories(tutti_deps_nvtx SYSTEM INTERFACE "${TUTTI_NVTX_INCLUDE_DIR}")
endif()

# tutti_print_summary(): prints the dependencies found, one per line; ./tutti setup shows them.
function(tutti_print_summary)
  message(STATUS "tutti summary")
  foreach(name IN ITEMS highway hwloc fmt cli11 json eigen protozero gtest gmock benchmark)
    string(TOUPPER ${name} upper)
    if(TUTTI_HAVE_${upper})
      tutti_summary_row(${name} "${TUTTI_VERSION_${upper}}")
    else()
      tutti_summary_row(${name} "not found")
    endif()
  endforeach()
  foreach(row IN ITEMS "Open MPI ABI|TUTTI_OPENMPI_INCLUDE_DIR" "MPICH ABI|TUTTI_MPICH_INCLUDE_DIR"
                       "Intel MPI|TUTTI_INTEL_MPI_ROOT" "oneCCL|TUTTI_ONECCL_INCLUDE_DIR"
                       "CUDA|TUTTI_CUDA_INCLUDE_DIR" "NCCL|TUTTI_NCCL_INCLUDE_DIR"
                       "NVTX|TUTTI_NVTX_INCLUDE_DIR" "Chart.js|TUTTI_CHART_JS"
                       "Level Zero|TUTTI_LEVEL_ZERO_INCLUDE_DIR")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 label)
    list(GET row 1 variable)
    if(${variable})
      tutti_summary_row(${label} "${${variable}}")
    else()
      tutti_summary_row(${label} "not found")
    endif()
  endforeach()
  tutti_summary_row("compiler" "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  tutti_summary_row("build type" "${CMAKE_BUILD_TYPE}")
  if(TUTTI_SANITIZE)
    tutti_summary_row("sanitizers" "${TUTTI_SANITIZE}")
  endif()
  message(STATUS "")
endfunction()

function(tutti_summary_row label value)
  string(LENGTH "${label}" length)
  math(EXPR fill "14 - ${length}")
  string(REPEAT " " ${fill} padding)
  message(STATUS "  ${label}${padding}${value}")
endfunction()
