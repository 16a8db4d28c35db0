# Parts of the engine that depend on no other part of it, as a library of their own, which the unit tests use too.
add_library(tutti_horovod_parts STATIC
  arithmetic/adasum.cpp
  arithmetic/compression.cpp
  autotune/bayesian_search.cpp
  autotune/kept_result.cpp
  autotune/parameter_manager.cpp
  autotune/tuned_values.cpp
  autotune/tuning_log.cpp
  autotune/tuning_plan.cpp
  engine/stall_inspector.cpp
  settings/horovod_settings.cpp
  settings/horovod_variable.cpp
  settings/horovod_variables.cpp
  timeline/merge_timelines.cpp
  timeline/timeline.cpp
  timeline/timeline_writer.cpp)
tutti_target_defaults(tutti_horovod_parts)
target_include_directories(tutti_horovod_parts PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}")
target_link_libraries(tutti_horovod_parts PUBLIC tutti::tutti)
# The search over fusion threshold and cycle time needs linear algebra; without it points are spread evenly.
if(TUTTI_HAVE_EIGEN)
  target_sources(tutti_horovod_parts PRIVATE autotune/gaussian_process.cpp)
  target_link_libraries(tutti_horovod_parts PRIVATE tutti_deps::eigen)
else()
  target_sources(tutti_horovod_parts PRIVATE autotune/gaussian_process_absent.cpp)
endif()
