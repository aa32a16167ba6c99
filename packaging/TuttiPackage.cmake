# SPDX-License-Identifier: Apache-2.0
# Packages of what `make install` installs, by CPack: a .deb, an RPM and a tarball (`make package`).
# What differs between them: packaging/generator.cmake.

set(CPACK_PACKAGE_NAME tutti)
set(CPACK_PACKAGE_VENDOR "The Tutti developers")
set(CPACK_PACKAGE_CONTACT "The Tutti developers <noreply@tutti.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "all OpenCL devices of a machine as one device")
set(CPACK_PACKAGE_DESCRIPTION
"Tutti is an OpenCL installable client driver. It shows unmodified applications
one platform with one device; behind it stand the real OpenCL devices of the
machine, each with its vendor's driver. A kernel that is enqueued once is
computed by all of them together, where that is proven safe and pays.
.
The command tutti starts applications on it, lists and measures the devices,
finds out what is wrong, and explains what is done with a kernel.")
# Packages built on different releases depend on different libraries: 1~deb12 is older than 1~deb13,
# and both are older than a distribution's own 1.
cmake_host_system_information(RESULT tutti_release QUERY DISTRIB_INFO)
string(REPLACE "debian" "deb" tutti_release "${tutti_release_ID}${tutti_release_VERSION_ID}")
set(CPACK_PACKAGE_FILE_NAME
    "tutti-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}-${tutti_release}")
set(CPACK_PACKAGE_DIRECTORY "${CMAKE_BINARY_DIR}/packages")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB RPM TGZ)
set(CPACK_PROJECT_CONFIG_FILE "${CMAKE_CURRENT_LIST_DIR}/generator.cmake")
# The .icd files name the driver by its absolute path, so the tree is installed where it will be.
set(CPACK_SET_DESTDIR ON)
set(CPACK_PACKAGE_RELOCATABLE OFF)
set(CPACK_THREADS 0)

# Clang and LLVM, which are nine tenths of it, take two thirds of what gzip makes of them.
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "1~${tutti_release}")
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The loader is opened by applications, not by the driver: no library names it.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "ocl-icd-libopencl1 | libopencl1")
# A driver for the real devices; not opencl-icd, which this package is itself.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS
    "pocl-opencl-icd | nvidia-opencl-icd | intel-opencl-icd | mesa-opencl-icd")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS clinfo)
set(CPACK_DEBIAN_PACKAGE_PROVIDES opencl-icd)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/conffiles"
    "${CMAKE_CURRENT_LIST_DIR}/postinst" "${CMAKE_CURRENT_LIST_DIR}/postrm")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_RPM_COMPRESSION_TYPE xz)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_RELEASE "1~${tutti_release}")
set(CPACK_RPM_SPEC_MORE_DEFINE "%define _build_id_links none")
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0")
set(CPACK_RPM_PACKAGE_GROUP "System/Libraries")
string(REPLACE "\n.\n" "\n\n" CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_RPM_PACKAGE_REQUIRES "libOpenCL.so.1()(64bit)")
# Nobody links with the driver.
set(CPACK_RPM_PACKAGE_AUTOPROV OFF)
set(CPACK_RPM_USER_FILELIST "%config(noreplace) /etc/tutti/tutti.toml"
                            "%config /etc/OpenCL/vendors/tutti.icd")
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION
    /etc /etc/OpenCL /etc/OpenCL/vendors /usr/libexec /usr/share/bash-completion
    /usr/share/bash-completion/completions /usr/share/fish /usr/share/fish/vendor_completions.d
    /usr/share/zsh /usr/share/zsh/vendor-completions /usr/share/lintian
    /usr/share/lintian/overrides /usr/share/man /usr/share/man/man1 /usr/share/doc /usr/lib/tmpfiles.d)

include(CPack)
