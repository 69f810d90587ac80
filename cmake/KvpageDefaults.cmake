# SPDX-License-Identifier: Apache-2.0
#
# What every kvpage target that is compiled has in common.

if(KVPAGE_SANITIZE STREQUAL "address")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=undefined>)
  add_link_options(-fsanitize=address,undefined)
elseif(KVPAGE_SANITIZE STREQUAL "thread")
  # g++ warns at every fence that ThreadSanitizer does not see it; core/cpu_atomics.h allows for that.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread> $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
  add_link_options(-fsanitize=thread)
elseif(KVPAGE_SANITIZE)
  message(FATAL_ERROR "KVPAGE_SANITIZE is '${KVPAGE_SANITIZE}': leave it empty, or address, or thread")
endif()

# Warnings, C++20 in .cu files too, and includes from the top of the tree ("cuda/launchers.h").
# -Wno-restrict: g++ 12 sees an overlap in `"literal" + std::string` that is not there.
function(kvpage_target_defaults target)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Wno-restrict>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>")
  if(KVPAGE_WERROR)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CXX>:-Werror>"
      "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Werror>")
  endif()
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
endfunction()

# A library: only what KVPAGE_EXPORT marks is visible; while the version is 0.x a new minor version
# may break the ABI. Installed, the libraries find each other beside them.
function(kvpage_library_defaults target)
  kvpage_target_defaults(${target})
  set_target_properties(${target} PROPERTIES
    CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON
    INSTALL_RPATH "$ORIGIN"
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endfunction()
