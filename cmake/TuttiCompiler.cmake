# Compile options of every target of the project: tutti_target_defaults(target).

set(TUTTI_SANITIZE "" CACHE STRING "Sanitizers of every target: empty, \"address,undefined\" or \"thread\"")
set_property(CACHE TUTTI_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")
if(NOT TUTTI_SANITIZE MATCHES "^(address,undefined|thread)?$")
  message(FATAL_ERROR "TUTTI_SANITIZE is \"${TUTTI_SANITIZE}\"; accepted: empty, \"address,undefined\", \"thread\"")
endif()

option(TUTTI_WARNINGS_AS_ERRORS "Compiler warnings are errors" OFF)

find_program(TUTTI_CCACHE ccache)
mark_as_advanced(TUTTI_CCACHE)
# ccache stores paths below CCACHE_BASEDIR as relative paths, so that clones of the repository share cache entries.
set(TUTTI_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${TUTTI_CCACHE})

# tutti_target_defaults(target): C++20, warnings, hidden symbols, the chosen sanitizers, ccache where present.
# For targets that compile sources; all options are private, so that users of the library do not inherit them.
function(tutti_target_defaults target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20
    CXX_STANDARD_REQUIRED ON
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    C_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)

  set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
               -Woverloaded-virtual -Wcast-align -Wundef -Wimplicit-fallthrough -Wextra-semi)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND warnings -Wduplicated-cond -Wsuggest-override)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      list(APPEND warnings -Wno-restrict)  # false alarms on std::string, gcc bug 105651
    endif()
  endif()
  if(TUTTI_WARNINGS_AS_ERRORS)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")

  if(TUTTI_SANITIZE)
    # no-recover: undefined behaviour that is only printed would not fail a test.
    target_compile_options(${target} PRIVATE
      -fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${TUTTI_SANITIZE})
  endif()

  if(TUTTI_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES
      C_COMPILER_LAUNCHER "${TUTTI_COMPILER_LAUNCHER}" CXX_COMPILER_LAUNCHER "${TUTTI_COMPILER_LAUNCHER}")
    # Otherwise debug information contains the path of the clone, and clones do not share cache entries.
    target_compile_options(${target} PRIVATE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  endif()
endfunction()
