# The CUDA part of the unpacked PyPI torch wheel (launch/set-up puts it under the build folder where there is a
# toolkit), with the toolkit that the plugin is built by. LIBTORCH_CUDA_ROOT names the folder that holds lib/.
# Gives the target LibTorch::cuda, for modules that a program opens by itself; programs link LibTorch::cpu alone. Where
# something is missing, LibTorchCuda_REASON is the sentence.
set(LIBTORCH_CUDA_MAJOR 13)  # what the pinned wheel was built with
set(LIBTORCH_CUDA_ROOT "${CMAKE_SOURCE_DIR}/build/libtorch-cuda" CACHE PATH "folder with the lib/ of torch's CUDA part")
find_library(LIBTORCH_CUDA_LIBRARY torch_cuda PATHS ${LIBTORCH_CUDA_ROOT}/lib NO_DEFAULT_PATH)
find_library(LIBTORCH_C10_CUDA_LIBRARY c10_cuda PATHS ${LIBTORCH_CUDA_ROOT}/lib NO_DEFAULT_PATH)
find_package(CUDAToolkit QUIET)
set(LibTorchCuda_REASON "")
if(NOT CUDAToolkit_FOUND)
  set(LibTorchCuda_REASON "there is no CUDA toolkit on this machine")
elseif(NOT CUDAToolkit_VERSION_MAJOR EQUAL LIBTORCH_CUDA_MAJOR)
  set(LibTorchCuda_REASON "the toolkit is CUDA ${CUDAToolkit_VERSION}, and LibTorch needs ${LIBTORCH_CUDA_MAJOR}")
elseif(NOT LIBTORCH_CUDA_LIBRARY OR NOT LIBTORCH_C10_CUDA_LIBRARY)
  set(LibTorchCuda_REASON "the CUDA part of LibTorch is not in ${LIBTORCH_CUDA_ROOT}; launch/set-up unpacks it")
endif()
if(LibTorchCuda_REASON STREQUAL "")
  set(LibTorchCuda_FOUND TRUE)
else()
  set(LibTorchCuda_FOUND FALSE)
endif()
if(LibTorchCuda_FOUND AND NOT TARGET LibTorch::cuda)
  # Every library of CUDA comes through torch's own needs, so that a process has one copy of each. What the toolkit
  # lacks of them and nothing here calls (runtime/device/cuda/stubs) comes last.
  set(SHOAL_CUDA_STUBS ${CMAKE_BINARY_DIR}/cuda-stubs)
  get_filename_component(toolkit_libraries "${CUDAToolkit_LIBRARY_DIR}" REALPATH)
  set(rpath "${LIBTORCH_ROOT}/lib" "${LIBTORCH_CUDA_ROOT}/lib" "${toolkit_libraries}" "${SHOAL_CUDA_STUBS}")
  list(JOIN rpath ":" rpath)
  add_library(LibTorch::cuda INTERFACE IMPORTED)
  set_target_properties(LibTorch::cuda PROPERTIES
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}"
    INTERFACE_INCLUDE_DIRECTORIES "${CUDAToolkit_INCLUDE_DIRS}"
    INTERFACE_LINK_OPTIONS "LINKER:--disable-new-dtags,-rpath,${rpath}"
    INTERFACE_LINK_LIBRARIES
      "-Wl,--no-as-needed;${LIBTORCH_CUDA_LIBRARY};${LIBTORCH_C10_CUDA_LIBRARY};-Wl,--as-needed")
endif()
