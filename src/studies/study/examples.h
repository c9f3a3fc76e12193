#pragma once

#include <span>
#include <string_view>

namespace assay {

// The files of examples/studies/ as they are in the source, carried in the program.
std::string_view study_distilbert_sst2();
std::string_view study_generation();
std::string_view study_gpt2_wikitext2();
std::string_view study_inference();
std::string_view study_int8_fp16();
std::string_view study_language_model();
std::string_view study_layers();

struct ExampleStudy {
  const char* name;  ///< Of its file, and what `assay study` calls it.
  std::string_view (*text)();
};
std::span<const ExampleStudy> example_studies();
/// Null where there is none of that name.
const ExampleStudy* find_example_study(std::string_view name);

}  // namespace assay
