#include "studies/study/examples.h"

#include <algorithm>

namespace assay {
namespace {

constexpr ExampleStudy carried_studies[] = {{"distilbert-sst2", study_distilbert_sst2},
                                            {"generation", study_generation},
                                            {"gpt2-wikitext2", study_gpt2_wikitext2},
                                            {"inference", study_inference},
                                            {"int8-fp16", study_int8_fp16},
                                            {"language-model", study_language_model},
                                            {"layers", study_layers}};

}  // namespace

std::span<const ExampleStudy> example_studies() {
  return carried_studies;
}

const ExampleStudy* find_example_study(std::string_view name) {
  const auto found = std::find_if(std::begin(carried_studies), std::end(carried_studies),
                                  [&](const ExampleStudy& study) { return study.name == name; });
  return found == std::end(carried_studies) ? nullptr : found;
}

}  // namespace assay
