# SPDX-License-Identifier: Apache-2.0
# Where things are installed. The driver finds its companions relative to itself, so the tree may
# be moved as a whole, except that an .icd file names the driver by its absolute path.
#
#   PREFIX/lib/tutti/libtutti.so            the driver
#   PREFIX/lib/tutti/libtutti-compiler.so   the kernel compiler, loaded at the first build
#   PREFIX/bin/tutti, tutti-bench           the tool, the benchmark
#   PREFIX/libexec/tutti/tutti-probe        tries a vendor driver in a process of its own
#   PREFIX/libexec/tutti/tutti-builder      runs compilers in processes of their own
#   PREFIX/libexec/tutti/tutti-device       drives a device in a process of its own
#   PREFIX/etc/OpenCL/vendors/tutti.icd     for ICD loaders; /etc/OpenCL/vendors with PREFIX=/usr
#   PREFIX/share/tutti/vendors/tutti.icd    a folder with Tutti alone, for `tutti run`
#   PREFIX/share/tutti/profiles.toml        what programs check of a device, and get for it
#   PREFIX/lib/tmpfiles.d/tutti.conf        has systemd make the folder that users' processes share
#   PREFIX/share/man/man1/tutti*.1.gz       the manual pages; completions for bash, zsh and fish
#   PREFIX/share/doc/tutti/                 README.md, CHANGELOG.md, docs/
#   /etc/tutti/tutti.toml                   every option, commented out; with PREFIX=/usr only, since
#                                           the driver looks there. Otherwise share/doc/tutti/

# Plain lib, also on Debian's multiarch, and a folder of our own there: nobody links with the driver,
# the .icd file names its path.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "")
include(GNUInstallDirs)

# Where tools writes the manual page and the completions.
set(TUTTI_DOCUMENTATION_FOLDER "${CMAKE_BINARY_DIR}/share")
find_program(TUTTI_GZIP gzip)
find_program(TUTTI_PYTHON3 python3 REQUIRED)

# Writes an .icd file at configure time; leaves it alone when it is right already.
function(tutti_write_icd file library)
  file(CONFIGURE OUTPUT "${file}" CONTENT "@library@\n" @ONLY)
endfunction()

function(tutti_install_target target kind destination)
  if(TARGET ${target})
    install(TARGETS ${target} ${kind} DESTINATION "${destination}")
  endif()
endfunction()

# Replaces the files of a list by what gzip makes of them in `folder`, when everything is built.
# CHANGELOG.md becomes changelog.gz, as Debian names it.
function(tutti_compress list folder)
  set(compressed)
  foreach(file IN LISTS ARGN)
    get_filename_component(name "${file}" NAME)
    string(REPLACE "CHANGELOG.md" "changelog" name "${name}")
    set(made "${folder}/${name}.gz")
    add_custom_command(OUTPUT "${made}" COMMAND "${TUTTI_GZIP}" -9nc "${file}" > "${made}"
                       DEPENDS "${file}" VERBATIM)
    list(APPEND compressed "${made}")
  endforeach()
  add_custom_target(tutti-compressed-${list} ALL DEPENDS ${compressed})
  add_dependencies(tutti-compressed-${list} tutti-documentation)
  set(${list} ${compressed} PARENT_SCOPE)
endfunction()

function(tutti_install)
  tutti_install_target(tutti-icd LIBRARY "${CMAKE_INSTALL_LIBDIR}/tutti")
  tutti_install_target(tutti-compiler LIBRARY "${CMAKE_INSTALL_LIBDIR}/tutti")
  tutti_install_target(tutti RUNTIME "${CMAKE_INSTALL_BINDIR}")
  tutti_install_target(tutti-bench RUNTIME "${CMAKE_INSTALL_BINDIR}")
  tutti_install_target(tutti-probe RUNTIME "${CMAKE_INSTALL_LIBEXECDIR}/tutti")
  tutti_install_target(tutti-builder RUNTIME "${CMAKE_INSTALL_LIBEXECDIR}/tutti")
  tutti_install_target(tutti-device RUNTIME "${CMAKE_INSTALL_LIBEXECDIR}/tutti")

  set(packaging "${CMAKE_SOURCE_DIR}/packaging")
  if(TARGET tutti-documentation)
    set(folder "${TUTTI_DOCUMENTATION_FOLDER}")
    set(changes "${CMAKE_SOURCE_DIR}/CHANGELOG.md" "${packaging}/changelog.Debian")
    if(TUTTI_GZIP)
      tutti_compress(changes "${folder}" ${changes})
    endif()
    install(DIRECTORY "${folder}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
    set(data "${CMAKE_INSTALL_DATADIR}")
    install(FILES "${folder}/tutti.bash" DESTINATION "${data}/bash-completion/completions"
            RENAME tutti)
    install(FILES "${folder}/_tutti" DESTINATION "${data}/zsh/vendor-completions")
    install(FILES "${folder}/tutti.fish" DESTINATION "${data}/fish/vendor_completions.d")
    install(CODE "set(tutti_toml \"${folder}/tutti.toml\")
set(tutti_changes \"${changes}\")")
  endif()
  # The documents, with links that lead somewhere where they are installed.
  file(GLOB documents RELATIVE "${CMAKE_SOURCE_DIR}" CONFIGURE_DEPENDS
       "${CMAKE_SOURCE_DIR}/docs/*.md" "${CMAKE_SOURCE_DIR}/docs/design/*.md")
  list(PREPEND documents README.md CHANGELOG.md)
  set(script "${CMAKE_SOURCE_DIR}/scripts/installed_documents.py")
  set(written "${CMAKE_BINARY_DIR}/share/documents.written")
  add_custom_command(OUTPUT "${written}"
    COMMAND "${TUTTI_PYTHON3}" "${script}" "${CMAKE_SOURCE_DIR}" "${CMAKE_BINARY_DIR}/share/documents"
            ${documents}
    COMMAND "${CMAKE_COMMAND}" -E touch "${written}"
    DEPENDS "${script}" ${documents} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}" VERBATIM)
  add_custom_target(tutti-documents ALL DEPENDS "${written}")
  install(DIRECTORY "${CMAKE_BINARY_DIR}/share/documents/"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tutti")
  install(FILES "${CMAKE_SOURCE_DIR}/platform/profiles.toml"
          DESTINATION "${CMAKE_INSTALL_DATADIR}/tutti")
  install(FILES "${packaging}/tmpfiles.conf" DESTINATION "${CMAKE_INSTALL_LIBDIR}/tmpfiles.d"
          RENAME tutti.conf)
  install(FILES "${packaging}/copyright" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/tutti")

  # `cmake --install --prefix` may change the prefix, so the .icd files are written then. /usr is
  # special in the file hierarchy: its configuration stands in /etc.
  install(CODE "set(tutti_libdir \"${CMAKE_INSTALL_LIBDIR}/tutti\")
set(tutti_sysconfdir \"${CMAKE_INSTALL_SYSCONFDIR}\")
set(tutti_datadir \"${CMAKE_INSTALL_DATADIR}\")")
  install(CODE [[
    cmake_path(ABSOLUTE_PATH tutti_libdir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    cmake_path(ABSOLUTE_PATH tutti_datadir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND tutti_sysconfdir STREQUAL "etc")
      set(tutti_sysconfdir /etc)
    endif()
    cmake_path(ABSOLUTE_PATH tutti_sysconfdir BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    # file(INSTALL) reckons with DESTDIR itself.
    if(tutti_toml AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
      file(INSTALL "${tutti_toml}" DESTINATION /etc/tutti)
      file(INSTALL ${tutti_changes} DESTINATION /usr/share/doc/tutti)
    elseif(tutti_toml)
      file(INSTALL "${tutti_toml}" DESTINATION "${CMAKE_INSTALL_PREFIX}/share/doc/tutti")
    endif()
    foreach(tutti_folder "${tutti_sysconfdir}/OpenCL/vendors" "${tutti_datadir}/tutti/vendors")
      set(tutti_icd "$ENV{DESTDIR}${tutti_folder}/tutti.icd")
      message(STATUS "Installing: ${tutti_icd}")
      file(WRITE "${tutti_icd}" "${tutti_libdir}/libtutti.so\n")
      list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${tutti_folder}/tutti.icd")
    endforeach()
  ]])
endfunction()
