# What goes into a wheel, which pyproject.toml asks for: the program inside the Python package, where the module looks
# for it, and the licences of what is compiled into it. Libraries that it links are put beside it by auditwheel.
if(NOT ASSAY_WHEEL)
  return()
endif()

# By which auditwheel finds oneDNN; it puts a path within the wheel in its place.
cmake_path(GET ONEDNN_LIBRARY PARENT_PATH onednn_folder)
set_target_properties(assay PROPERTIES INSTALL_RPATH "${onednn_folder}")
install(TARGETS assay RUNTIME DESTINATION assay/bin COMPONENT wheel)
assay_install_licences(assay/licenses wheel ${assay_compiled_in} libssl-dev libsqlite3-dev libgomp1)
if(EXISTS "${CMAKE_SOURCE_DIR}/.deps/onednn/share/doc/onednn")
  install(DIRECTORY "${CMAKE_SOURCE_DIR}/.deps/onednn/share/doc/onednn" DESTINATION assay/licenses COMPONENT wheel
          FILES_MATCHING PATTERN LICENSE PATTERN THIRD-PARTY-PROGRAMS)
endif()
