# A text file as a C++ file with `std::string_view function()`, which `header` declares, so that the program carries its
# own texts: raw literals of 8 kB, which every compiler takes.
function(assay_bundle_text input output header function)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${input}")
  file(READ "${input}" rest)
  set(literals "")
  string(LENGTH "${rest}" length)
  while(length GREATER 0)
    string(SUBSTRING "${rest}" 0 8000 piece)
    string(LENGTH "${piece}" taken)
    string(SUBSTRING "${rest}" ${taken} -1 rest)
    string(LENGTH "${rest}" length)
    string(APPEND literals "R\"bundled(${piece})bundled\"\n")
  endwhile()
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT "#include \"@header@\"

namespace assay {

std::string_view @function@() {
  static constexpr char text[] =
@literals@;
  return {text, sizeof(text) - 1};
}

}  // namespace assay
")
endfunction()
