#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/document.h"

namespace assay {

/// Rows without figures, those that lack them for one reason in one sentence: "fp8-e4m3, fp8-e5m2: emulated: ...".
Sentences left_out_remarks(std::span<const Record> records, Detail detail);

/// What the columns of the results rest on: what a sample is, the denominators of shares, meters, data.
Sentences reading_remarks(std::span<const Record> records, Detail detail);

/// What ran. Briefly: a line a precision, "bf16: 241 of 272 operations native bf16 (avx512_bf16), 31 native f32"; in
/// detail a line for operations that ran alike, with kernel and evidence.
Sentences ran_remarks(std::span<const Record> records, Detail detail);

/// Why rows are not graded A. Briefly: what most have in common, and why others differ from it.
Sentences trust_remarks(std::span<const Record> records, Detail detail);

/// What rules found: briefly the gravest, one for several rows of which a rule says the same.
Sentences finding_remarks(std::span<const Finding> findings, Detail detail);

/// What came as expected and what did not; briefly the latter alone.
Sentences expectation_remarks(std::span<const Finding> findings, Detail detail);

}  // namespace assay
