# PCRE2, the library for 8-bit units: gives the target Pcre2::pcre2.
find_path(PCRE2_INCLUDE_DIR pcre2.h)
find_library(PCRE2_LIBRARY pcre2-8)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Pcre2 REQUIRED_VARS PCRE2_INCLUDE_DIR PCRE2_LIBRARY)
if(Pcre2_FOUND AND NOT TARGET Pcre2::pcre2)
  add_library(Pcre2::pcre2 UNKNOWN IMPORTED)
  set_target_properties(Pcre2::pcre2 PROPERTIES IMPORTED_LOCATION "${PCRE2_LIBRARY}"
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${PCRE2_INCLUDE_DIR}")
endif()
