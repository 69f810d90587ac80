# SPDX-License-Identifier: Apache-2.0
#
# Decides KVPAGE_WITH_CUDA from KVPAGE_CUDA and what is installed, and enables the language.

set(KVPAGE_WITH_CUDA OFF)

if(KVPAGE_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(KVPAGE_WITH_CUDA ON)
    set(kvpage_cuda_reason "found ${CMAKE_CUDA_COMPILER}")
  else()
    set(kvpage_cuda_reason "found no CUDA compiler")
  endif()
elseif(KVPAGE_CUDA)
  set(KVPAGE_WITH_CUDA ON)
endif()

if(KVPAGE_WITH_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES "80;90")
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.0)
    if(NOT KVPAGE_CUDA STREQUAL "AUTO")
      message(FATAL_ERROR "kvpage needs nvcc 12.0 for C++20, this is ${CMAKE_CUDA_COMPILER_VERSION}")
    endif()
    set(KVPAGE_WITH_CUDA OFF)
    string(APPEND kvpage_cuda_reason ", but ${CMAKE_CUDA_COMPILER_VERSION} is older than 12.0")
  endif()
endif()

if(KVPAGE_CUDA STREQUAL "AUTO")
  message(STATUS "kvpage: KVPAGE_CUDA=AUTO ${kvpage_cuda_reason}: CUDA ${KVPAGE_WITH_CUDA}")
endif()

if(KVPAGE_WITH_CUDA)
  include(KvpageCuda20)
  find_package(CUDAToolkit REQUIRED)
endif()
