# Looks for a CUDA toolkit and sets ABBA_CUDA_FOUND. ABBA_CUDA: AUTO takes one where there is one,
# ON stops without one, OFF does not look. The usual folder is tried besides PATH.
set(ABBA_CUDA AUTO CACHE STRING "Build the CUDA backend: AUTO (if a toolkit is found), ON or OFF")
set_property(CACHE ABBA_CUDA PROPERTY STRINGS AUTO ON OFF)
set(ABBA_CUDA_FOUND FALSE)
if(ABBA_CUDA STREQUAL "OFF" OR ABBA_SANITIZE)
  return()  # the sanitizers know nothing of device memory; compute-sanitizer does
endif()

include(CheckLanguage)
find_program(ABBA_NVCC nvcc HINTS /usr/local/cuda/bin)
if(ABBA_NVCC AND NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER ${ABBA_NVCC})
endif()
# Before enable_language. compute_90a is not forward compatible: other chips get the CPU backend.
set(CMAKE_CUDA_ARCHITECTURES "90a-real;90-virtual")
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  if(ABBA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ABBA_CUDA is ON and no nvcc was found; put it into PATH or set CMAKE_CUDA_COMPILER")
  endif()
  message(STATUS "No CUDA toolkit found: abba-laya is built with the CPU backend alone")
  return()
endif()
if(ABBA_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ABBA_CCACHE})
endif()
enable_language(CUDA)
# CMake 3.25.1 does not know what nvcc 13 calls C++20.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
# As for the host: no contraction of a*b+c behind the author's back. Kernels call fused multiply-add
# by its name where they want it. Line numbers cost no speed and let tools name the line.
set(ABBA_CUDA_OPTIONS --fmad=false -lineinfo -Xcompiler=-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
find_package(CUDAToolkit REQUIRED)
set(ABBA_CUDA_FOUND TRUE)
message(STATUS "CUDA backend: toolkit ${CUDAToolkit_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")
