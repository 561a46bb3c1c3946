# Our targets, with our warnings as errors; include paths start at the root of the repository:
#   shoal_library(NAME SOURCES a.cpp ... [DEPENDS t ...])
#   shoal_program(NAME SOURCES a.cpp ... [DEPENDS t ...])
#   shoal_test(NAME [WITH_ACTORS] [OPTIMISED] SOURCES a_test.cpp ... [DEPENDS t ...])
# g++ 12 sees uninitialised strings in moved std::variants where there are none.
set(SHOAL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-maybe-uninitialized -Werror)

function(shoal_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_SOURCES)
    add_library(${name} STATIC ${ARG_SOURCES})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
    target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
  endif()
endfunction()

function(shoal_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
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
  if(ARG_OPTIMISED AND ARG_WITH_ACTORS)
    target_precompile_headers(${name} PRIVATE ${SHOAL_TEST_HEADERS} <caf/all.hpp>)
  elseif(ARG_OPTIMISED)
    target_precompile_headers(${name} PRIVATE ${SHOAL_TEST_HEADERS})
  else()
    target_compile_options(${name} PRIVATE -O0)
    if(ARG_WITH_ACTORS)
      target_precompile_headers(${name} REUSE_FROM tests_precompiled_actors)
    else()
      target_precompile_headers(${name} REUSE_FROM tests_precompiled)
    endif()
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
