#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/measuring.h"
#include "report/section.h"
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

/// What a study found: records, and what its other parts say.
struct StudyResult {
  std::vector<ReportSource> sources;
  std::vector<ReportSection> sections;
};

/// DistilBERT and GPT-2 in every precision at several batches, side by side.
StudyResult study_inference(const StudyRequest& request, Measuring& measuring);
/// Training steps over sizes and contexts, the warm-up study, attention alone, memory, accumulation, autocast: each by
/// the experiment of its own command.
StudyResult study_language_model(const StudyRequest& request, Measuring& measuring);

/// What the warm-up changes: means, deviations and what was to be expected of them. `rows` with those of `others` that
/// differ from them in nothing but the warm-up.
ReportSection warm_up_section(std::span<const Record> others, std::vector<Record> rows);
/// The findings and expectations of the rules over the records of these sources.
ReportSection rules_section(const std::vector<ReportSource>& sources);

}  // namespace assay
