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

file(GLOB_RECURSE server_sources CONFIGURE_DEPENDS src/server/*.cpp)
add_library(handoff_server STATIC ${server_sources})
handoff_configure(handoff_server "")
target_link_libraries(handoff_server PUBLIC handoff_tasks Boost::headers
  PRIVATE OpenSSL::SSL OpenSSL::Crypto spdlog::spdlog tomlplusplus::tomlplusplus)

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS src/cli/*.cpp)
add_executable(handoff_program ${cli_sources})
handoff_configure(handoff_program "")
target_compile_definitions(handoff_program PRIVATE HANDOFF_VERSION="${PROJECT_VERSION}")
set_target_properties(handoff_program PROPERTIES OUTPUT_NAME handoff)
target_link_libraries(handoff_program PRIVATE handoff_server CLI11::CLI11)
