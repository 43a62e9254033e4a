# Compiles every header alone, included twice: each must bring what it needs, and only once. Then all of them together: no two may say the same thing.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include include/handoff/*.hpp)
if(NOT headers)
  return()
endif()

# Those for users of Asio need Boost, and nothing else of ours does.
find_package(Boost 1.81 QUIET)
if(NOT Boost_FOUND)
  list(FILTER headers EXCLUDE REGEX "^handoff/(asio\\.hpp|detail/asio/)")
endif()
if(NOT TARGET handoff_tasks)
  list(FILTER headers EXCLUDE REGEX "^handoff/(tasks/|detail/tasks/)")
endif()

foreach(header IN LISTS headers)
  string(REGEX REPLACE "\\.hpp$" ".cpp" unit ${PROJECT_BINARY_DIR}/header_check/${header})
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include <${header}>\n#include <${header}>\n")
  if(header MATCHES "^handoff/testing/(simulate|var|history|gtest)\\.hpp$")
    list(APPEND simulated_units ${unit})  # They refuse any other flavour.
  else()
    list(APPEND units ${unit})
    string(APPEND all_headers "#include <${header}>\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/header_check/all.cpp CONTENT "${all_headers}")
list(APPEND units ${PROJECT_BINARY_DIR}/header_check/all.cpp)

add_library(header_check OBJECT ${units})
target_link_libraries(header_check PRIVATE handoff_testing)
if(Boost_FOUND)
  target_link_libraries(header_check PRIVATE Boost::headers)
endif()
if(TARGET handoff_tasks)
  target_link_libraries(header_check PRIVATE handoff_tasks)
endif()
target_compile_options(header_check PRIVATE -O0)

find_package(GTest REQUIRED)  # For handoff/testing/gtest.hpp.
add_library(header_check_sim OBJECT ${simulated_units})
target_link_libraries(header_check_sim PRIVATE handoff_sim_testing GTest::gtest)
target_compile_options(header_check_sim PRIVATE -O0)
