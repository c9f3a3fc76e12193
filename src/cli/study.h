#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/measuring.h"
#include "report/subject.h"

namespace assay {

enum class StudyLength : std::uint8_t { full, quick };

struct StudyRequest {
  std::vector<std::string> models;  ///< Empty: the study's own.
  std::filesystem::path data;
  double seconds = 0;  ///< Budget of each row; 0: the length's own.
  StudyLength length = StudyLength::full;
  MachineOptions machine;
};

/// DistilBERT and GPT-2 in every precision at several batches, side by side.
std::vector<ReportSource> study_inference(const StudyRequest& request, Measuring& measuring);
/// Training steps over sizes and contexts, the warm-up study, attention alone, memory, accumulation, autocast: each by
/// the experiment of its own command.
std::vector<ReportSource> study_language_model(const StudyRequest& request, Measuring& measuring);

/// What the warm-up changes: `rows` with those of `others` that differ from them in nothing but the warm-up, and what
/// was to be expected of them.
Document warm_up_document(std::span<const Record> others, std::vector<Record> rows);

}  // namespace assay
