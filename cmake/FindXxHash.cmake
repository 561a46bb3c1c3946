# xxHash: gives the target XxHash::xxhash.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
find_library(XXHASH_LIBRARY xxhash)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XxHash REQUIRED_VARS XXHASH_INCLUDE_DIR XXHASH_LIBRARY)
if(XxHash_FOUND AND NOT TARGET XxHash::xxhash)
  add_library(XxHash::xxhash UNKNOWN IMPORTED)
  set_target_properties(XxHash::xxhash PROPERTIES IMPORTED_LOCATION "${XXHASH_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${XXHASH_INCLUDE_DIR}")
endif()
