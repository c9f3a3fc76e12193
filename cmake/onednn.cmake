# oneDNN, as the target DNNL::dnnl: the wheels that tools/setup put into .deps/, else the system's.
list(APPEND CMAKE_PREFIX_PATH "${CMAKE_SOURCE_DIR}/.deps/onednn")
find_package(dnnl 3.2 REQUIRED CONFIG)
get_target_property(library DNNL::dnnl LOCATION)
set(ONEDNN_LIBRARY "${library}" CACHE FILEPATH "the oneDNN that is linked; ./assay builds again where it is gone" FORCE)
message(STATUS "oneDNN ${dnnl_VERSION}: ${ONEDNN_LIBRARY}")
