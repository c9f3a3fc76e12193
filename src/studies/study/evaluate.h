#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "studies/study/request.h"

namespace assay {

enum class StudyOutcome : std::uint8_t {
  as_expected,
  in_part,  ///< Of several rows some came as expected.
  not_as_expected,
  undecided,  ///< The intervals leave it open.
  not_tested  ///< No figure that may be used.
};
const char* name(StudyOutcome verdict);

/// An expectation beside what was observed.
struct StudyVerdict {
  StudyOutcome verdict = StudyOutcome::not_tested;
  std::string observed;  ///< Figures, or why there are none.
};

/// Rows whose figure is missing, whose status is not ok or whose grade is D are not used. Where a row carries its
/// figure's 95 % interval, the expectation holds of all of it, fails for all of it, or is undecided.
StudyVerdict verdict_on(const StudyExpectation& expectation, std::span<const StudyPart> parts);

/// The winner of each group of rows that agree in all but `among`, with those whose intervals reach it; or the figures.
/// Rows that are not used are said to be left out.
std::string answer_to(const StudyQuestion& question, std::span<const StudyPart> parts);

}  // namespace assay
