# The CUDA backend. Its kernels are compiled for the host in every build, for the tests; for GPUs where ASSAY_CUDA is ON.
# A file's folder says what compiles it: `cuda` is nvcc's, `cuda/host` and `cuda/host/toolkit` are the C++ compiler's, the
# latter with the toolkit's headers, `cuda/on_host` stands in for a GPU in tests.
set(cuda_folder "${CMAKE_SOURCE_DIR}/src/kernels/cuda")
file(GLOB cuda_kernels CONFIGURE_DEPENDS "${cuda_folder}/*.cc")
file(GLOB cuda_products CONFIGURE_DEPENDS "${cuda_folder}/host/*.cc")  # for a GPU, and in tests with what stands in
file(GLOB cuda_libraries CONFIGURE_DEPENDS "${cuda_folder}/host/toolkit/*.cc")  # for a GPU alone
file(GLOB cuda_stand_ins CONFIGURE_DEPENDS "${cuda_folder}/on_host/*.cc")
file(GLOB_RECURSE cuda_tests CONFIGURE_DEPENDS "${cuda_folder}/*_test.cc")  # of the backend's own parts; test_kernels runs them
list(REMOVE_ITEM cuda_kernels "${cuda_folder}/device_code.cc")  # for a GPU alone
list(REMOVE_ITEM cuda_products "${cuda_folder}/host/absent.cc" ${cuda_tests})  # where this backend is not built
list(REMOVE_ITEM cuda_stand_ins ${cuda_tests})

# The toolkit: what tools/setup/cuda.sh put into .deps/, else the machine's own.
if(ASSAY_CUDA)
  set(cuda_deps "${CMAKE_SOURCE_DIR}/.deps/cuda/nvidia/cu13")
  if(EXISTS "${cuda_deps}/bin/nvcc")
    set(CMAKE_CUDA_COMPILER "${cuda_deps}/bin/nvcc")
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${ASSAY_CUDA_ARCHITECTURES})
  list(TRANSFORM CMAKE_CUDA_ARCHITECTURES APPEND "-real")
  list(GET ASSAY_CUDA_ARCHITECTURES -1 newest)
  list(APPEND CMAKE_CUDA_ARCHITECTURES "${newest}-virtual")  # what later GPUs compile for themselves
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")  # CMake 3.25 does not know that nvcc 13 has it
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  find_package(CUDAToolkit 13 REQUIRED)
  # cuDNN's headers, from its package or the toolkit's folder. Without them attention stores its scores.
  find_path(CUDNN_INCLUDE cudnn_graph.h PATHS "${cuda_deps}/../cudnn/include" ${CUDAToolkit_INCLUDE_DIRS})
  find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h PATHS "${CMAKE_SOURCE_DIR}/.deps/cudnn_frontend/include")
  if(CUDNN_INCLUDE AND CUDNN_FRONTEND_INCLUDE)
    list(REMOVE_ITEM cuda_libraries "${cuda_folder}/host/toolkit/cudnn_absent.cc")
  else()
    list(REMOVE_ITEM cuda_libraries "${cuda_folder}/host/toolkit/cudnn.cc" "${cuda_folder}/host/toolkit/cudnn_library.cc")
    message(STATUS "cuDNN's headers are missing (tools/setup/cuda.sh): attention is built without it")
  endif()
  message(STATUS "CUDA ${CUDAToolkit_VERSION}: ${CMAKE_CUDA_COMPILER}, for ${CMAKE_CUDA_ARCHITECTURES}")
endif()

# The backend, as part of the room `kernels`. cudart is linked statically, and everything else of CUDA is opened when a
# GPU is used: the program starts where there is no driver.
function(assay_add_cuda_backend)
  if(NOT ASSAY_CUDA)
    target_sources(assay_kernels PRIVATE "${cuda_folder}/host/absent.cc")
    return()
  endif()
  list(APPEND cuda_kernels "${cuda_folder}/device_code.cc")
  set_source_files_properties(${cuda_kernels} PROPERTIES LANGUAGE CUDA SKIP_UNITY_BUILD_INCLUSION ON)
  set_source_files_properties(${cuda_products} ${cuda_libraries} PROPERTIES COMPILE_OPTIONS "-isystem;${CUDAToolkit_INCLUDE_DIRS}"
    COMPILE_DEFINITIONS "ASSAY_ON_GPU;ASSAY_CUDA_LIBRARY_FOLDERS=\"${CUDAToolkit_LIBRARY_DIR}:${cuda_deps}/../cudnn/lib\"")
  set_property(SOURCE "${cuda_folder}/host/toolkit/cudnn.cc" "${cuda_folder}/host/toolkit/cudnn_library.cc" APPEND PROPERTY COMPILE_OPTIONS
    "-isystem;${CUDNN_INCLUDE};-isystem;${CUDNN_FRONTEND_INCLUDE};-DCUDNN_FRONTEND_SKIP_JSON_LIB")
  # Its headers are a library, of which what is not used goes away only where it is optimised.
  set_property(SOURCE "${cuda_folder}/host/toolkit/cudnn.cc" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON)
  set_property(SOURCE "${cuda_folder}/host/toolkit/cudnn.cc" APPEND PROPERTY COMPILE_OPTIONS -O2)
  target_sources(assay_kernels PRIVATE ${cuda_kernels} ${cuda_products} ${cuda_libraries})
  target_compile_options(assay_kernels PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  target_link_libraries(assay_kernels PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})
endfunction()

# The same kernels for the host, in a folder of their own, since a source file has one language in each.
if(ASSAY_TESTS)
  add_subdirectory(cmake/cuda_on_host)
endif()
