#pragma once

#include <cstddef>

namespace assay {

// Makers of the K types: super-blocks of 256 values, drawn in ggml_blocks.h. The scale of each group, and its minimum
// where the type has one, are searched for the least sum of squared errors, then all of a super-block are brought to
// the small integers that it can hold, and the codes are chosen anew, with neighbours of those integers tried. Values
// that are not finite give the scale NaN.

void make_q4_k(const float* x, std::byte* block);
void make_q5_k(const float* x, std::byte* block);
void make_q6_k(const float* x, std::byte* block);

}  // namespace assay
