# tutti_module_defaults(target): builds the MODULE library `target` where the registry looks; TuttiInstall installs it.
function(tutti_module_defaults target)
  tutti_target_defaults(${target})
  target_link_libraries(${target} PRIVATE tutti::tutti)
  # Missing symbols must be link errors: a module that cannot be opened is only a line in `tutti info`.
  target_link_options(${target} PRIVATE -Wl,--no-undefined)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${TUTTI_MODULE_DIR}")
  set_property(GLOBAL APPEND PROPERTY TUTTI_MODULES ${target})
endfunction()

# tutti_add_backend_module(target name [variant]): adds the MODULE library `target`, without sources yet, which the
# registry finds as the backend `name`.
function(tutti_add_backend_module target name)
  set(file tutti_backend_${name})
  if(ARGC GREATER 2)
    string(APPEND file .${ARGV2})
  endif()
  add_library(${target} MODULE)
  tutti_module_defaults(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${file})
endfunction()

# tutti_add_device_module(target name): the same for the device `name`.
function(tutti_add_device_module target name)
  add_library(${target} MODULE)
  tutti_module_defaults(${target})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME tutti_device_${name})
endfunction()

# tutti_add_profiling_source(name source ...): adds the library tutti_source_<name>, which is loaded into profiled
# programs: by LD_PRELOAD, or as a plug-in of the library that it watches. It depends on the recorder only.
function(tutti_add_profiling_source name)
  set(target tutti_source_${name})
  add_library(${target} MODULE ${ARGN})
  tutti_target_defaults(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})  # base/interpose
  target_link_libraries(${target} PRIVATE tutti_profiling ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,--no-undefined)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${TUTTI_MODULE_DIR}"
    INSTALL_RPATH "$ORIGIN/..")
  set_property(GLOBAL APPEND PROPERTY TUTTI_MODULES ${target})
endfunction()
