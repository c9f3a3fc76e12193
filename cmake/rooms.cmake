# A room is a folder of src/: one static library `assay_<room>` of its *.cc, one test program `test_<room>` of its
# *_test.cc, and one fuzz program `fuzz_<name>` for each <name>_fuzz.cc. What it may link is what the table of levels in
# docs/design.md lets it include. A main.cc is left to the program that it belongs to.

# Rooms whose tests also run under the address and undefined-behaviour sanitizers: they parse hostile bytes or index
# raw memory.
set(ASSAY_SANITIZED_ROOMS base tensor measure formats results text program kernels model runtime)
# Rooms whose loops are most of what tests and fuzz programs take: they are optimised where they are sanitized, too. Those
# of hot tests have even their tests optimised in every build. Elsewhere tests, and all that is sanitized, take longer to
# optimise than they would gain. What is inline in headers may then run as tests compiled it.
set(ASSAY_HOT_ROOMS base tensor formats text measure kernels quality)
set(ASSAY_HOT_TESTS tensor kernels quality)
set(ASSAY_HOT_LEVEL -O2)
if(ASSAY_SANITIZE)
  set(ASSAY_HOT_LEVEL -O1)
endif()
# Test programs that measure time or what the machine does meanwhile.
set(ASSAY_MEASURING_TESTS test_hardware test_measure test_experiments test_cli)
add_custom_target(sanitized_tests)
add_custom_target(fuzz_programs)

function(assay_room room)
  cmake_parse_arguments(ROOM "" "" "USES;LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${room}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/src/${room}/cuda/")  # cmake/cuda.cmake says what of it is built
  set(tests ${sources})
  set(fuzzers ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|fuzz)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cc$")
  list(TRANSFORM ROOM_USES PREPEND assay_)
  assay_library(assay_${room} SOURCES ${sources} LINKS assay_settings ${ROOM_USES} ${ROOM_LIBRARIES})
  if(ASSAY_SANITIZE AND room IN_LIST ASSAY_HOT_ROOMS)
    target_compile_options(assay_${room} PRIVATE ${ASSAY_HOT_LEVEL})
  endif()
  if(tests AND ASSAY_TESTS)
    assay_test(test_${room} ${tests})
    target_link_libraries(test_${room} PRIVATE assay_${room})
    if(room IN_LIST ASSAY_HOT_TESTS)
      target_compile_options(test_${room} PRIVATE ${ASSAY_HOT_LEVEL})
    endif()
    if(room IN_LIST ASSAY_SANITIZED_ROOMS)
      add_dependencies(sanitized_tests test_${room})
      set_tests_properties(${tests_of_test_${room}} PROPERTIES LABELS sanitized)
    endif()
  endif()
  if(ASSAY_FUZZ AND fuzzers)
    assay_fuzz(${room} ${fuzzers})
  endif()
endfunction()

# With ASSAY_UNITY, files are compiled several at a time: half of what a file costs alone is reading the same headers.
# Files that are read once for each instruction set (Highway), or change it for what follows, stay alone.
function(assay_unite target)
  if(NOT ASSAY_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ASSAY_UNITY_FILES})
  foreach(source ${ARGN})
    file(STRINGS "${source}" changes_target LIMIT_COUNT 1 REGEX "#include [<\"](hwy/foreach_target|kernels/cpu/micro/target)\\.h")
    if(changes_target)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# A room of headers alone is an interface.
function(assay_library name)
  cmake_parse_arguments(LIBRARY "" "" "SOURCES;LINKS" ${ARGN})
  if(LIBRARY_SOURCES)
    add_library(${name} STATIC ${LIBRARY_SOURCES})
    target_link_libraries(${name} PUBLIC ${LIBRARY_LINKS})
    assay_unite(${name} ${LIBRARY_SOURCES})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${LIBRARY_LINKS})
  endif()
endfunction()

function(assay_test name)
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARGN})
  assay_unite(${name} ${ARGN})
  target_compile_options(${name} PRIVATE -O0)
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}" ASSAY_SHARED_DIR="${CMAKE_SOURCE_DIR}/../shared")
  assay_add_tests(${name})
endfunction()

# Programs may run side by side, but for those that measure: they have the machine for themselves. The kernels' suite,
# which takes longest, comes in four parts. The names of a program's tests: tests_of_<name>.
function(assay_add_tests name)
  set(parts 1)
  if(name STREQUAL test_kernels)
    set(parts 4)
  endif()
  set(tests "")
  foreach(part RANGE 1 ${parts})
    set(test ${name})
    if(parts GREATER 1)
      set(test ${name}_${part})
    endif()
    math(EXPR shard "${part} - 1")
    add_test(NAME ${test} COMMAND ${name})
    # Clang's OpenMP never frees what it holds for its threads.
    set_tests_properties(${test} PROPERTIES ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${shard};LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/cmake/leaks.txt:print_suppressions=0")
    list(APPEND tests ${test})
  endforeach()
  if(name IN_LIST ASSAY_MEASURING_TESTS)
    set_tests_properties(${tests} PROPERTIES RUN_SERIAL ON)
  endif()
  set(tests_of_${name} ${tests} CACHE INTERNAL "")
endfunction()

# What libFuzzer goes by is where the room's code has been.
function(assay_fuzz room)
  target_compile_options(assay_${room} PRIVATE -fsanitize=fuzzer-no-link)
  foreach(source ${ARGN})
    get_filename_component(stem "${source}" NAME_WE)
    string(REGEX REPLACE "_fuzz$" "" stem "${stem}")
    add_executable(fuzz_${stem} "${source}")
    target_link_libraries(fuzz_${stem} PRIVATE assay_${room} -fsanitize=fuzzer)
    set_target_properties(fuzz_${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzzers")
    add_dependencies(fuzz_programs fuzz_${stem})
  endforeach()
endfunction()

# A program that people start: build/<preset>/<name>, whatever folder its sources are in.
function(assay_program name)
  cmake_parse_arguments(PROGRAM "" "" "SOURCES;USES" ${ARGN})
  list(TRANSFORM PROGRAM_USES PREPEND assay_)
  add_executable(${name} ${PROGRAM_SOURCES})
  target_link_libraries(${name} PRIVATE assay_settings ${PROGRAM_USES})
  target_compile_definitions(${name} PRIVATE ASSAY_VERSION="${PROJECT_VERSION}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
endfunction()
