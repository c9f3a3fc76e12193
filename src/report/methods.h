#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/subject.h"

namespace assay {

/// The methods and disclosure paragraphs of a paper, made from the records alone: machine, program, models, protocol,
/// warm-up, samples, conditions, meters, what ran in which precision, quality, what was left out and why, trust. What a
/// record does not carry is not said.
std::vector<std::string> methods_paragraphs(std::span<const ReportSource> sources);
/// The same as text of at most 100 columns, a blank line between paragraphs.
std::string methods_text(std::span<const ReportSource> sources);

}  // namespace assay
