# Install rules: the library with its headers, the modules, the command, and the files for find_package and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS tutti
  EXPORT tutti_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tutti_profiling
  EXPORT tutti_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tutti_targets NAMESPACE tutti:: FILE tuttiTargets.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)

get_property(modules GLOBAL PROPERTY TUTTI_MODULES)
if(modules)
  install(TARGETS ${modules} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR})
endif()
if(TARGET tutti_nccl_adapter)
  install(TARGETS tutti_nccl_adapter LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR}/nccl)
endif()
install(TARGETS tutti_horovod_adapter LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR}/horovod)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/adapters/horovod/include/
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR}/horovod/include)
if(TARGET tutti_adapter_torch)
  install(TARGETS tutti_adapter_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR}/torch/tutti_torch)
  install(FILES ${PROJECT_SOURCE_DIR}/adapters/torch/tutti_torch/__init__.py
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TUTTI_MODULE_DIR}/torch/tutti_torch)
endif()
if(TARGET tutti_command)
  install(TARGETS tutti_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/records/ DESTINATION ${CMAKE_INSTALL_DATADIR}/tutti/records
    FILES_MATCHING PATTERN "*.record")
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tuttiConfig.cmake.in ${PROJECT_BINARY_DIR}/tuttiConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tuttiConfig.cmake ${PROJECT_BINARY_DIR}/tuttiConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tutti)

# The prefix is relative to the .pc file, so that an installed tree can be moved.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" up "${up}")
set(TUTTI_PC_PREFIX "\${pcfiledir}/${up}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/tutti.pc.in ${PROJECT_BINARY_DIR}/tutti.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tutti.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
