# SPDX-License-Identifier: Apache-2.0
# CPack reads this once for each kind of package.
if(CPACK_GENERATOR STREQUAL "TGZ")
  # To be unpacked at / without touching what the distribution manages: tar -C / -xzf …; gone again
  # by removing the folder.
  set(CPACK_INSTALL_PREFIX /opt/tutti)
  set(CPACK_INCLUDE_TOPLEVEL_DIRECTORY OFF)
else()
  set(CPACK_INSTALL_PREFIX /usr)
endif()
