#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "results/document.h"
#include "studies/shared/surroundings.h"

namespace assay {

enum class StudyLength : std::uint8_t { full, quick };

/// A whole study, as such are published.
struct StudyRequest {
  std::vector<std::string> models;  ///< Empty: the study's own.
  std::filesystem::path data;       ///< Of inference; empty: the bundled text.
  double seconds = 0;               ///< Budget of each row; 0: the study's own.
  StudyLength length = StudyLength::full;
};

/// What one study within it found.
struct StudyPart {
  std::string label;
  Document document;
};

/// Precisions of models that classify and that write, over batches.
std::vector<StudyPart> study_inference(const StudyRequest& request, const FactsSource& facts,
                                       const StudyCallbacks& callbacks);
/// Training steps of a language model by size and context, warm-up, attention, memory, sums, dtypes under autocast.
std::vector<StudyPart> study_language_model(const StudyRequest& request, const FactsSource& facts,
                                            const StudyCallbacks& callbacks);

}  // namespace assay
