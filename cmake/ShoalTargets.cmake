# Our targets, with our warnings as errors; include paths start at the root of the repository:
#   shoal_library(NAME SOURCES a.cpp ... [APART a.cpp ...] [HEADERS h ...] [DEPENDS t ...])
#   shoal_program(NAME SOURCES a.cpp ... [APART a.cpp ...] [DEPENDS t ...])
#   shoal_test(NAME [WITH_ACTORS] [OPTIMISED] SOURCES a_test.cpp ... [DEPENDS t ...])
# g++ 12 sees uninitialised strings in moved std::variants where there are none.
set(SHOAL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-maybe-uninitialized -Werror)

# Compiles a target's sources 16 at a time but for those that are to be APART (or ALL): a compiler spends most of its
# time on headers and on instances of their templates, and makes them once for all 16. Names in the anonymous namespaces
# of such sources have to differ; so each test has a namespace of its own, called as its file.
option(SHOAL_TOGETHER "Compile sources 16 at a time: a build from nothing takes two thirds of the time" ON)
function(shoal_together name apart)
  if(SHOAL_TOGETHER AND NOT apart STREQUAL ALL)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    if(apart)
      set_source_files_properties(${apart} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    # g++ takes such sources for headers, and warns of what they have in anonymous namespaces.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(shoal_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;HEADERS;DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
    shoal_together(${name} "${ARG_APART}")
    if(ARG_HEADERS)
      # Most of the sources include these, which are read once. Such a target goes without ccache: that takes headers
      # whose comments alone differ for the same, and gives back what was read of the others, which g++ does not accept.
      list(TRANSFORM ARG_HEADERS PREPEND ${CMAKE_SOURCE_DIR}/)
      target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
      set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
endfunction()

function(shoal_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;APART;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  shoal_together(${name} "${ARG_APART}")
endfunction()

# Headers of libraries that most tests include.
set(SHOAL_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h> <algorithm> <chrono> <filesystem> <fstream> <functional> <map>
    <memory> <optional> <random> <set> <sstream> <string> <variant> <vector>)

# A test program; CTest sees each of its cases, under the label of its folder: tests/simulation and tests/system give
# `simulation` and `system` (real processes, with more time), all others `unit`.
# Tests are compiled fast: without optimisation, except OPTIMISED ones, which compute for long; and with the headers of
# libraries read once for all of them (tests/support/precompiled), WITH_ACTORS also CAF's.
function(shoal_test name)
  cmake_parse_arguments(ARG "WITH_ACTORS;OPTIMISED" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
  target_compile_definitions(${name} PRIVATE
    SHOAL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SHOAL_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/system")
    set(properties LABELS system TIMEOUT 600)
  elseif(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/simulation")
    set(properties LABELS simulation TIMEOUT 300)
  else()
    set(properties LABELS unit TIMEOUT 120)
  endif()
  if(NOT ARG_OPTIMISED)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  set(actors)
  if(ARG_WITH_ACTORS)
    set(actors "<caf/all.hpp>")
  endif()
  shoal_together(${name} "")
  if(ARG_OPTIMISED)
    target_precompile_headers(${name} PRIVATE ${SHOAL_TEST_HEADERS} ${actors})
  elseif(ARG_WITH_ACTORS)
    target_precompile_headers(${name} REUSE_FROM tests_precompiled_actors)
  else()
    target_precompile_headers(${name} REUSE_FROM tests_precompiled)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
