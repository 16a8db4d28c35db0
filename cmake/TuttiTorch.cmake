# PyTorch: the target tutti_deps::torch with its headers and libraries, if the Python in TUTTI_TORCH_PYTHON has it.
# That Python is asked rather than torch's CMake package, which changes flags of the whole project and may belong to
# another torch than the one that programs import.

set(TUTTI_TORCH_PYTHON "/usr/bin/python3" CACHE FILEPATH "Python with the PyTorch that the adapter is built for")

set(TUTTI_TORCH2_ROOT "" CACHE PATH "Folder with the package torch 2 from PyPI, which the adapter is compiled with as well")

set(TUTTI_TORCH_VERSION "")
if(EXISTS "${TUTTI_TORCH_PYTHON}")
  # The import takes seconds: repeated only for another Python or another torch.
  execute_process(COMMAND "${TUTTI_TORCH_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/find_torch.py" --key
    OUTPUT_VARIABLE key OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(key AND NOT key STREQUAL TUTTI_TORCH_KEY)
    execute_process(COMMAND "${TUTTI_TORCH_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/find_torch.py"
      OUTPUT_VARIABLE facts OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE problem RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(STATUS "adapter torch: ${TUTTI_TORCH_PYTHON} has torch, which is not usable: ${problem}")
      set(facts "")
    endif()
    set(TUTTI_TORCH_FACTS "${facts}" CACHE INTERNAL "")
    set(TUTTI_TORCH_KEY "${key}" CACHE INTERNAL "")
  elseif(NOT key)
    set(TUTTI_TORCH_FACTS "" CACHE INTERNAL "")
    set(TUTTI_TORCH_KEY "" CACHE INTERNAL "")
  endif()
  foreach(fact IN LISTS TUTTI_TORCH_FACTS)
    string(REGEX MATCH "^([a-z_]+)=(.*)$" matched "${fact}")
    string(TOUPPER "${CMAKE_MATCH_1}" name)
    string(REPLACE "|" ";" value "${CMAKE_MATCH_2}")
    set(TUTTI_TORCH_${name} "${value}")
  endforeach()
endif()

if(TUTTI_TORCH_VERSION AND NOT TARGET tutti_deps::torch)
  add_library(tutti_deps_torch INTERFACE)
  add_library(tutti_deps::torch ALIAS tutti_deps_torch)
  target_include_directories(tutti_deps_torch SYSTEM INTERFACE ${TUTTI_TORCH_INCLUDES})
  target_compile_definitions(tutti_deps_torch INTERFACE ${TUTTI_TORCH_DEFINITIONS})
  target_link_libraries(tutti_deps_torch INTERFACE ${TUTTI_TORCH_LIBRARIES})
endif()
