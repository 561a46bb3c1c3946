# shoal_library(NAME SOURCES a.cpp ... [DEPENDS t ...]) and shoal_test(NAME SOURCES a_test.cpp ... [DEPENDS t ...]):
# our targets, with our warnings as errors. Include paths start at the root of the repository.
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

# A test program; CTest sees each of its cases, under the label of its folder: tests/simulation and tests/system give
# `simulation` and `system` (real processes: one at a time, with more time), all others `unit`.
function(shoal_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${SHOAL_WARNINGS})
  target_compile_definitions(${name} PRIVATE
    SHOAL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SHOAL_BUILD_DIR="${CMAKE_BINARY_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/system")
    set(properties LABELS system TIMEOUT 600 RUN_SERIAL TRUE)
  elseif(CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/simulation")
    set(properties LABELS simulation TIMEOUT 300)
  else()
    set(properties LABELS unit TIMEOUT 120)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
