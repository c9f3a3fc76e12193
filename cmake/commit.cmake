# Writes the commit of the sources into OUTPUT, a header, whenever it is another one than before:
#   cmake -D SOURCES=<folder> -D OUTPUT=<file> -P commit.cmake
# "unknown" outside of git; what is not committed is said.
find_program(GIT git)
set(commit "")
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${SOURCES}" describe --always --dirty=+changes --abbrev=40 --exclude=*
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT commit)
  set(commit "unknown")
endif()
set(header "#pragma once\n\n#define ASSAY_COMMIT \"${commit}\"\n")
set(before "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" before)
endif()
if(NOT header STREQUAL before)
  file(WRITE "${OUTPUT}" "${header}")
endif()
