# SPDX-License-Identifier: Apache-2.0
#
# The install rules. CUDA has an export set of its own, so that a CPU user of an installation with
# CUDA needs no CUDA.

include(CMakePackageConfigHelpers)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/kvpage")

install(TARGETS kvpage_core kvpage EXPORT kvpageTargets FILE_SET HEADERS)
install(EXPORT kvpageTargets NAMESPACE kvpage:: DESTINATION "${package_dir}")
if(KVPAGE_WITH_CUDA)
  install(TARGETS kvpage_cuda EXPORT kvpageCudaTargets FILE_SET HEADERS FILE_SET device_headers)
  install(EXPORT kvpageCudaTargets NAMESPACE kvpage:: DESTINATION "${package_dir}")
endif()

configure_package_config_file(
  "${CMAKE_CURRENT_LIST_DIR}/kvpageConfig.cmake.in" "${PROJECT_BINARY_DIR}/kvpageConfig.cmake"
  INSTALL_DESTINATION "${package_dir}"
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/kvpageConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/kvpageConfig.cmake"
  "${PROJECT_BINARY_DIR}/kvpageConfigVersion.cmake"
  "${CMAKE_CURRENT_LIST_DIR}/KvpageCuda20.cmake"
  DESTINATION "${package_dir}")

# The .pc files find the prefix from where they lie, so `cmake --install --prefix` works.
set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH KVPAGE_PC_UP "/${pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" KVPAGE_PC_UP "${KVPAGE_PC_UP}")
foreach(pc IN ITEMS kvpage kvpage-cuda)
  if(pc STREQUAL "kvpage" OR KVPAGE_WITH_CUDA)
    configure_file("${CMAKE_CURRENT_LIST_DIR}/${pc}.pc.in" "${PROJECT_BINARY_DIR}/${pc}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${pc}.pc" DESTINATION "${pkgconfig_dir}")
  endif()
endforeach()
