# What knows MPI is a library of its own beside the program, which opens it where it was started as one of several ranks:
# the program itself needs no MPI. Where CMake finds none it is left out, and the program says how to get it.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)

function(assay_add_mpi program)
  if(NOT MPI_CXX_FOUND)
    message(STATUS "MPI: none found; training over processes is left out (libopenmpi-dev and openmpi-bin have it)")
    return()
  endif()
  add_library(assay_mpi MODULE "${CMAKE_SOURCE_DIR}/src/processes/mpi/module.cc")
  target_include_directories(assay_mpi PRIVATE "${CMAKE_SOURCE_DIR}/src")
  target_link_libraries(assay_mpi PRIVATE MPI::MPI_CXX)
  set_target_properties(assay_mpi PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  add_dependencies(${program} assay_mpi)
endfunction()
