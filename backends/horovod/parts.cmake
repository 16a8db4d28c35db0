# Parts of the engine that depend on no other part of it, as a library of their own, which the unit tests use too.
add_library(tutti_horovod_parts STATIC
  adasum.cpp
  compression.cpp
  settings/horovod_settings.cpp
  settings/horovod_variable.cpp
  settings/horovod_variables.cpp
  stall_inspector.cpp)
tutti_target_defaults(tutti_horovod_parts)
target_include_directories(tutti_horovod_parts PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(tutti_horovod_parts PUBLIC tutti::tutti)
