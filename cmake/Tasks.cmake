# Durable tasks: a library of its own, because it needs Boost and SQLite. Left out where these are missing.

find_package(Boost 1.81 QUIET)  # Headers only.
find_package(SQLite3 QUIET)
if(NOT TARGET Boost::headers OR NOT TARGET SQLite::SQLite3)
  message(STATUS "handoff: handoff::tasks needs Boost 1.81 (libboost1.81-dev) and SQLite (libsqlite3-dev); left out")
  return()
endif()

file(GLOB_RECURSE tasks_sources CONFIGURE_DEPENDS src/tasks/*.cpp)
add_library(handoff_tasks ${main_type} ${tasks_sources})
handoff_configure(handoff_tasks "")
target_link_libraries(handoff_tasks PUBLIC handoff Boost::headers PRIVATE SQLite::SQLite3)
set_target_properties(handoff_tasks PROPERTIES EXPORT_NAME tasks
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(NOT HANDOFF_INSTALL)
  set_target_properties(handoff_tasks PROPERTIES EXCLUDE_FROM_ALL ON)  # For those who link it.
endif()
add_library(handoff::tasks ALIAS handoff_tasks)
