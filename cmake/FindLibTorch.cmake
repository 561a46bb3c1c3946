# The unpacked PyPI torch wheel (launch/set-up puts it under the build folder): headers and CPU libraries only.
# LIBTORCH_ROOT names the folder that holds include/ and lib/. Gives the target LibTorch::cpu.
# Torch carries its own fmt, so its headers come after the system's (-idirafter).
set(LIBTORCH_ROOT "${CMAKE_SOURCE_DIR}/build/libtorch" CACHE PATH "folder with torch's include/ and lib/")
find_path(LIBTORCH_INCLUDE_DIR torch/library.h PATHS ${LIBTORCH_ROOT}/include NO_DEFAULT_PATH)
find_library(LIBTORCH_CPU_LIBRARY torch_cpu PATHS ${LIBTORCH_ROOT}/lib NO_DEFAULT_PATH)
find_library(LIBTORCH_C10_LIBRARY c10 PATHS ${LIBTORCH_ROOT}/lib NO_DEFAULT_PATH)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LIBTORCH_INCLUDE_DIR LIBTORCH_CPU_LIBRARY LIBTORCH_C10_LIBRARY)
if(LibTorch_FOUND AND NOT TARGET LibTorch::cpu)
  add_library(LibTorch::cpu INTERFACE IMPORTED)
  set_target_properties(LibTorch::cpu PROPERTIES
    INTERFACE_COMPILE_OPTIONS
      "-idirafter${LIBTORCH_INCLUDE_DIR};-idirafter${LIBTORCH_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_LINK_OPTIONS
      "LINKER:--disable-new-dtags,-rpath,${LIBTORCH_ROOT}/lib,-rpath-link,${LIBTORCH_ROOT}/lib"
    INTERFACE_LINK_LIBRARIES
      "-Wl,--no-as-needed;${LIBTORCH_CPU_LIBRARY};${LIBTORCH_C10_LIBRARY};-Wl,--as-needed;Threads::Threads")
endif()
