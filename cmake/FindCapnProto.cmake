# Cap'n Proto: the compiler and the message library. Gives CapnProto::capnp and capnp_sources(OUT a.capnp ...), which
# generates <name>.capnp.{h,c++} beside their mirror of the source tree in the build folder.
find_program(CAPNP_EXECUTABLE capnp)
find_program(CAPNPC_CXX_EXECUTABLE capnpc-c++)
find_path(CAPNP_INCLUDE_DIR capnp/message.h)
find_library(CAPNP_LIBRARY capnp)
find_library(KJ_LIBRARY kj)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CapnProto
  REQUIRED_VARS CAPNP_EXECUTABLE CAPNPC_CXX_EXECUTABLE CAPNP_INCLUDE_DIR CAPNP_LIBRARY KJ_LIBRARY)
if(CapnProto_FOUND AND NOT TARGET CapnProto::capnp)
  add_library(CapnProto::capnp INTERFACE IMPORTED)
  set_target_properties(CapnProto::capnp PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAPNP_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${CAPNP_LIBRARY};${KJ_LIBRARY};Threads::Threads")
endif()

function(capnp_sources out)
  set(generated)
  foreach(schema ${ARGN})
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema})
    add_custom_command(
      OUTPUT ${CMAKE_BINARY_DIR}/${relative}.c++ ${CMAKE_BINARY_DIR}/${relative}.h
      COMMAND ${CAPNP_EXECUTABLE} compile -o${CAPNPC_CXX_EXECUTABLE}:${CMAKE_BINARY_DIR}
              --src-prefix=${CMAKE_SOURCE_DIR} -I${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${schema}
      COMMENT "capnp ${relative}")
    list(APPEND generated ${CMAKE_BINARY_DIR}/${relative}.c++)
  endforeach()
  set(${out} ${generated} PARENT_SCOPE)
endfunction()
