# SPDX-License-Identifier: Apache-2.0
#
# CMake 3.25 does not know that nvcc compiles C++20, and then builds .cu files as C++17 without a
# word. This tells it. Used by the build and, installed, by kvpageConfig.cmake.

if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
