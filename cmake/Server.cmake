# `handoff`, the program: a server with an HTTP API, and the command line. Left out where what it needs is missing.

find_package(OpenSSL QUIET)
find_package(spdlog QUIET)
find_package(CLI11 QUIET)
find_package(tomlplusplus QUIET)
if(NOT TARGET handoff_tasks OR NOT OpenSSL_FOUND OR NOT spdlog_FOUND OR NOT CLI11_FOUND OR NOT tomlplusplus_FOUND)
  message(STATUS "handoff: the program needs handoff::tasks, OpenSSL (libssl-dev), spdlog, CLI11 and toml++ "
    "(libspdlog-dev libcli11-dev libtomlplusplus-dev); left out")
  return()
endif()

# The dashboard, which tools/web builds once for all builds, inside the program. Without npm a page says how to get it.
option(HANDOFF_DASHBOARD "Build the dashboard, with npm, and put it into the program" ${PROJECT_IS_TOP_LEVEL})
set(web_files ${PROJECT_BINARY_DIR}/web/web_files.cpp)
if(HANDOFF_DASHBOARD)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS web/src/* web/public/*)
  file(GLOB web_settings CONFIGURE_DEPENDS web/*.json web/*.ts web/*.html web/scripts/*)
  list(FILTER web_sources EXCLUDE REGEX "\\.test\\.")
  set(web_build COMMAND ${PROJECT_SOURCE_DIR}/tools/web)
  set(web_folder ${PROJECT_SOURCE_DIR}/web/dist)
else()
  set(web_folder ${PROJECT_BINARY_DIR}/web/none)
endif()
add_custom_command(OUTPUT ${web_files}
  ${web_build}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/embed ${web_folder} ${web_files}
  DEPENDS ${PROJECT_SOURCE_DIR}/tools/web ${PROJECT_SOURCE_DIR}/tools/embed ${web_sources} ${web_settings}
  COMMENT "Building the dashboard" VERBATIM)
set_source_files_properties(${web_files} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

file(GLOB_RECURSE server_sources CONFIGURE_DEPENDS src/server/*.cpp)
add_library(handoff_server STATIC ${server_sources} ${web_files})
handoff_configure(handoff_server "")
set_source_files_properties(src/server/version.cpp PROPERTIES COMPILE_DEFINITIONS HANDOFF_VERSION="${PROJECT_VERSION}")
target_link_libraries(handoff_server PUBLIC handoff_tasks Boost::headers
  PRIVATE OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog tomlplusplus::tomlplusplus)
if(PROJECT_IS_TOP_LEVEL)  # Most of what src/server/http takes to compile.
  target_precompile_headers(handoff_server PRIVATE
    <boost/asio/as_tuple.hpp> <boost/asio/awaitable.hpp> <boost/asio/io_context.hpp> <boost/asio/ip/tcp.hpp>
    <boost/asio/steady_timer.hpp> <boost/asio/use_awaitable.hpp>)
endif()
if(HANDOFF_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(handoff_server PRIVATE -Wno-tsan)  # For fences inside Asio, which has locks besides.
endif()

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS src/cli/*.cpp)
add_executable(handoff_program ${cli_sources})
handoff_configure(handoff_program "")
target_compile_definitions(handoff_program PRIVATE HANDOFF_VERSION="${PROJECT_VERSION}")
set_target_properties(handoff_program PROPERTIES OUTPUT_NAME handoff)
target_link_libraries(handoff_program PRIVATE handoff_server CLI11::CLI11)
# Gives memory back once a burst is over, and takes less time; without it the program has the C library's. Sanitizers have their own.
find_library(HANDOFF_JEMALLOC jemalloc)
mark_as_advanced(HANDOFF_JEMALLOC)
if(HANDOFF_JEMALLOC AND NOT HANDOFF_SANITIZE)
  target_link_libraries(handoff_program PRIVATE ${HANDOFF_JEMALLOC})
endif()
