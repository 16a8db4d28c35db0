# tutti_add_backend_module(target name [variant]): the MODULE library `target`, without sources yet, which the registry
# finds as the backend `name` and TuttiInstall installs.
function(tutti_add_backend_module target name)
  set(file tutti_backend_${name})
  if(ARGC GREATER 2)
    string(APPEND file .${ARGV2})
  endif()
  add_library(${target} MODULE)
  tutti_target_defaults(${target})
  target_link_libraries(${target} PRIVATE tutti::tutti)
  # What is missing must show when linking: a module that cannot be opened is only a line in `tutti info`.
  target_link_options(${target} PRIVATE -Wl,--no-undefined)
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${file}
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/${TUTTI_MODULE_DIR}")
  set_property(GLOBAL APPEND PROPERTY TUTTI_MODULES ${target})
endfunction()
