# spdlog as a compiled library with the system's fmt: one translation unit of ours includes it (runtime/base/log.cpp).
# Gives the target Spdlog::spdlog.
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h)
find_library(SPDLOG_LIBRARY spdlog)
find_library(FMT_LIBRARY fmt)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Spdlog REQUIRED_VARS SPDLOG_INCLUDE_DIR SPDLOG_LIBRARY FMT_LIBRARY)
if(Spdlog_FOUND AND NOT TARGET Spdlog::spdlog)
  add_library(Spdlog::spdlog INTERFACE IMPORTED)
  set_target_properties(Spdlog::spdlog PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${SPDLOG_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "SPDLOG_COMPILED_LIB;SPDLOG_SHARED_LIB;SPDLOG_FMT_EXTERNAL"
    INTERFACE_LINK_LIBRARIES "${SPDLOG_LIBRARY};${FMT_LIBRARY};Threads::Threads")
endif()
