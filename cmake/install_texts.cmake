# What the program writes about itself, into the folder `share`: `program` is the built one.
function(write_by_program file)  # FILE ARGUMENT...
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  execute_process(COMMAND "${program}" ${ARGN} OUTPUT_FILE "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

write_by_program("${share}/bash-completion/completions/assay" completion bash)
write_by_program("${share}/fish/vendor_completions.d/assay.fish" completion fish)
write_by_program("${share}/zsh/vendor-completions/_assay" completion zsh)

set(pages "${share}/man/man1")
file(MAKE_DIRECTORY "${pages}")
execute_process(COMMAND "${program}" man --folder "${pages}" COMMAND_ERROR_IS_FATAL ANY)
file(GLOB made "${pages}/assay*.1")
execute_process(COMMAND gzip -9nf ${made} COMMAND_ERROR_IS_FATAL ANY)
