# Compiler settings shared by every target of ours.
option(ASSAY_TESTS "build the tests" ON)
option(ASSAY_UNITY "compile several files of a target together: twice as fast from scratch, slower after a change" OFF)
# Twice as many together take a fifth less in all, and more cores want more to do side by side.
cmake_host_system_information(RESULT processors QUERY NUMBER_OF_LOGICAL_CORES)
if(processors GREATER 4)
  set(files_together 8)
else()
  set(files_together 16)
endif()
set(ASSAY_UNITY_FILES ${files_together} CACHE STRING "how many files are compiled together where ASSAY_UNITY is ON")
option(ASSAY_FUZZ "build the fuzz programs (clang only)" OFF)
option(ASSAY_CUDA "build the CUDA backend" OFF)
option(ASSAY_WHEEL "install the program as the Python package has it (pip sets it)" OFF)
option(ASSAY_CURL_AT_RUN_TIME "open the system's libcurl when it is first needed, instead of linking it" OFF)
set(ASSAY_CUDA_ARCHITECTURES "75;80;86;89;90;100;120" CACHE STRING "compute capabilities to compile for, without the dot")
set(ASSAY_SANITIZE "" CACHE STRING "sanitizers, as -fsanitize= takes them")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

add_library(assay_settings INTERFACE)
target_include_directories(assay_settings INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(assay_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wnon-virtual-dtor -Woverloaded-virtual -Werror>)
# Compiled together, a file's locals stand under its neighbours' names: that hides nothing that the file knows of.
target_compile_options(assay_settings INTERFACE
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>>>:-Wshadow>)
target_link_libraries(assay_settings INTERFACE fmt::fmt nlohmann_json::nlohmann_json OpenMP::OpenMP_CXX Threads::Threads)

# GCC 12 warns about overlapping copies inside std::string's own operator+ (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(assay_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# GCC 13 and 14 take the library's own copies of one element, inlined, for copies past its end, and the like: what they
# conclude from the flow through inlined code is shown and is no error.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  foreach(conclusion array-bounds dangling-pointer dangling-reference free-nonheap-object maybe-uninitialized
                     null-dereference stringop-overflow stringop-overread)
    target_compile_options(assay_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=${conclusion}>)
  endforeach()
endif()

# Clang says where a loop that asks for vectors gets none, as where nothing is optimised: slow is no error.
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  target_compile_options(assay_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-pass-failed>)
endif()

if(ASSAY_SANITIZE)
  # Before the options of targets, which may leave something out.
  add_compile_options(-fsanitize=${ASSAY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(assay_settings INTERFACE -fsanitize=${ASSAY_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")  # Large functions call what checks an address: vector code compiles faster.
    target_compile_options(assay_settings INTERFACE "SHELL:-mllvm -asan-instrumentation-with-call-threshold=500")
  endif()
  if(ASSAY_SANITIZE MATCHES "address")
    target_compile_definitions(assay_settings INTERFACE ASSAY_ADDRESS_SANITIZER)  # compilers have no name in common
  endif()
endif()
