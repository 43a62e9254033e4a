# Settings of handoff's own builds. A project that adds handoff as a subdirectory gets none of them.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(HANDOFF_WERROR)
  add_compile_options(-Werror)
endif()

# ccache only saves time. It caches users of a precompiled header only if told that this header's
# defines and times do not matter; clang must then not look at the times either. Paths inside the project are made
# relative, so that another clone of it finds what this one has built.
find_program(HANDOFF_CCACHE ccache)
mark_as_advanced(HANDOFF_CCACHE)
if(HANDOFF_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${HANDOFF_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  else()
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# Links in a tenth of the time.
find_program(HANDOFF_MOLD mold)
mark_as_advanced(HANDOFF_MOLD)
if(HANDOFF_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
