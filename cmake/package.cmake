# `cpack -G DEB` in a build folder makes a package of the program that was built there: with the pages of its manual and
# the completions of shells, which the program itself writes while it is installed, and the licences. What it needs of
# the system is read off the program by dpkg-shlibdeps. A oneDNN of .deps/ goes along, in a folder of the program's own.
include(GNUInstallDirs)

install(TARGETS assay RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES LICENSE NOTICE CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES LICENSE RENAME copyright DESTINATION "${CMAKE_INSTALL_DOCDIR}")
assay_install_licences("${CMAKE_INSTALL_DOCDIR}/licenses" Unspecified ${assay_compiled_in})
install(CODE "set(program \"$<TARGET_FILE:assay>\")
set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATAROOTDIR}\")")
install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/install_texts.cmake")

cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${ONEDNN_LIBRARY}" NORMALIZE onednn_is_ours)
if(onednn_is_ours)
  cmake_path(GET ONEDNN_LIBRARY PARENT_PATH onednn_folder)
  set_target_properties(assay PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/assay")
  install(FILES "${onednn_folder}/libdnnl.so.3" DESTINATION lib/assay)
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/.deps/onednn/share/doc/onednn" DESTINATION "${CMAKE_INSTALL_DOCDIR}"
          FILES_MATCHING PATTERN LICENSE PATTERN THIRD-PARTY-PROGRAMS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${onednn_folder}")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "assay <assay@localhost>" CACHE STRING "who answers for a package: NAME <ADDRESS>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "which numeric precision should this model use on this machine?")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-pip")  # `assay pull`
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-venv, g++")  # `assay peers`
include(CPack)
