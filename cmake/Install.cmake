# Headers, libraries, the CMake package, the files for pkg-config, and the program: the last also alone, as the component `program`.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/handoff)

install(DIRECTORY include/handoff DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.ipp")
install(TARGETS handoff handoff_testing EXPORT handoffTargets)
if(HANDOFF_SIMULATOR)
  install(TARGETS handoff_sim EXPORT handoffTargets)
endif()
# In a set of its own: who does not ask for the component `tasks` needs neither Boost nor SQLite.
if(TARGET handoff_tasks)
  install(TARGETS handoff_tasks EXPORT handoffTasksTargets)
  install(EXPORT handoffTasksTargets NAMESPACE handoff:: DESTINATION ${package_dir})
endif()
if(TARGET handoff_program)
  install(TARGETS handoff_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
install(EXPORT handoffTargets NAMESPACE handoff:: DESTINATION ${package_dir})

configure_package_config_file(cmake/handoffConfig.cmake.in
  ${PROJECT_BINARY_DIR}/handoffConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/handoffConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)  # Until 1.0 a minor version may change the API.
install(FILES ${PROJECT_BINARY_DIR}/handoffConfig.cmake ${PROJECT_BINARY_DIR}/handoffConfigVersion.cmake
  DESTINATION ${package_dir})

# The prefix is relative to the file, so an installed tree may be moved, and `--prefix` at install time works.
file(RELATIVE_PATH up_to_prefix
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" up_to_prefix ${up_to_prefix})
set(HANDOFF_PC_PREFIX "\${pcfiledir}/${up_to_prefix}")
list(TRANSFORM main_definitions PREPEND " -D" OUTPUT_VARIABLE HANDOFF_PC_DEFINITIONS)
list(JOIN HANDOFF_PC_DEFINITIONS "" HANDOFF_PC_DEFINITIONS)
set(pc_files handoff.pc)
if(TARGET handoff_tasks)
  list(APPEND pc_files handoff_tasks.pc)
endif()
foreach(pc IN LISTS pc_files)
  configure_file(cmake/${pc}.in ${PROJECT_BINARY_DIR}/${pc} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${pc} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
