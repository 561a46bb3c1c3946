# CAF (the C++ actor framework): Debian ships neither a CMake package nor a .pc file. Gives the target Caf::caf.
find_path(CAF_INCLUDE_DIR caf/all.hpp)
find_library(CAF_CORE_LIBRARY caf_core)
find_library(CAF_IO_LIBRARY caf_io)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Caf REQUIRED_VARS CAF_INCLUDE_DIR CAF_CORE_LIBRARY CAF_IO_LIBRARY)
if(Caf_FOUND AND NOT TARGET Caf::caf)
  add_library(Caf::caf INTERFACE IMPORTED)
  set_target_properties(Caf::caf PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CAF_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${CAF_IO_LIBRARY};${CAF_CORE_LIBRARY};Threads::Threads")
endif()
