# Durable tasks: a library of its own, because it needs Boost and SQLite. Left out where these are missing.

find_package(Boost 1.81 QUIET)  # Headers only.
find_package(SQLite3 QUIET)
if(NOT TARGET Boost::headers OR NOT TARGET SQLite::SQLite3)
  message(STATUS "handoff: handoff::tasks needs Boost 1.81 (libboost1.81-dev) and SQLite (libsqlite3-dev); left out")
  return()
endif()

file(GLOB_RECURSE tasks_sources CONFIGURE_DEPENDS src/tasks/*.cpp src/net/*.cpp)
# Stores of a server, by http: without libcurl there are none, and open() says so.
find_package(CURL 7.85 QUIET)
if(TARGET CURL::libcurl)
  list(FILTER tasks_sources EXCLUDE REGEX "/src/net/no_curl\\.cpp$")
  set(HANDOFF_TASKS_HAS_CURL ON)
  set(HANDOFF_PC_CURL ", libcurl")
else()
  message(STATUS "handoff: open(\"http://...\") needs libcurl 7.85 (libcurl4-openssl-dev); left out")
  list(FILTER tasks_sources EXCLUDE REGEX "/src/net/(curl_line|retry_after|url)\\.cpp$")
  set(HANDOFF_TASKS_HAS_CURL OFF)
endif()

add_library(handoff_tasks ${main_type} ${tasks_sources})
handoff_configure(handoff_tasks "")
target_link_libraries(handoff_tasks PUBLIC handoff Boost::headers PRIVATE SQLite::SQLite3 $<TARGET_NAME_IF_EXISTS:CURL::libcurl>)
set_target_properties(handoff_tasks PROPERTIES EXPORT_NAME tasks
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
if(NOT HANDOFF_INSTALL)
  set_target_properties(handoff_tasks PROPERTIES EXCLUDE_FROM_ALL ON)  # For those who link it.
endif()
add_library(handoff::tasks ALIAS handoff_tasks)
