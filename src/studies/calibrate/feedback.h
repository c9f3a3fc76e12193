#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "model/changed_weights.h"
#include "tensor/tensor.h"

namespace assay {

/// How errors of a matrix's columns lead to errors of its outputs: sum_t x_t x_t^T over inputs, (width, width), with
/// what rounding of the inputs adds on the diagonal, in the form that rounding with feedback needs.
class ErrorFeedback {
 public:
  /// `moments`: (width, width), symmetric. Damped by a hundredth of the mean of its diagonal, so that directions in
  /// which the samples have nothing cost something too.
  explicit ErrorFeedback(const Tensor& moments);

  /// s8 codes of the rows of `matrix` (out, width) by steps of a 127th of each row's largest. Column after column,
  /// those of most input power first: what is rounded is the weight and what makes good, by least squares, for the
  /// errors of the columns before it (GPTQ, Frantar et al. 2023; in the form of LDLQ, Chee et al. 2023, section 3). The
  /// largest of each row keeps the last code, so that quantising the values again gives the same codes.
  RowCodes rounded(const Tensor& matrix) const;

 private:
  /// Rows that are rounded side by side: a vector of errors for each column.
  static constexpr std::int64_t abreast = 16;

  void round_rows(const Tensor& matrix, std::int64_t first, std::int64_t count, RowCodes& result) const;
  std::array<float, abreast> owed_to(std::int64_t k, const std::vector<float>& errors) const;

  std::int64_t width_;
  std::vector<std::int32_t> order_;  ///< Columns by growing power: they are taken from the end.
  std::vector<float> feedback_;      ///< (width, width), by order: row k holds, behind k, what their errors add to k.
};

}  // namespace assay
