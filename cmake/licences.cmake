# The licences of what is compiled into the program, as Debian's packages have them: whoever hands the program on hands
# them on too.
set(assay_compiled_in libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libfmt-dev libhwy-dev)

function(assay_install_licences destination component)  # PACKAGE...
  foreach(package ${ARGN})
    if(EXISTS "/usr/share/doc/${package}/copyright")
      install(FILES "/usr/share/doc/${package}/copyright" RENAME "${package}.txt" DESTINATION "${destination}"
              COMPONENT ${component})
    else()
      message(STATUS "${package} has no copyright file here: its licence is not installed")
    endif()
  endforeach()
endfunction()
