#include "base/threads.h"
#include "kernels/reference/access.h"
#include "kernels/reference/loops.h"

namespace assay::reference {
namespace {

struct Row {
  double largest = 0;
  double sum = 0;  ///< of e^(logit - largest)
};

Row softmax_of(const Reader& logits, std::int64_t row, std::int64_t width) {
  Row found;
  found.largest = logits(row, 0);
  for (std::int64_t i = 1; i < width; ++i) found.largest = std::max(found.largest, logits(row, i));
  for (std::int64_t i = 0; i < width; ++i) found.sum += std::exp(logits(row, i) - found.largest);
  return found;
}

std::int64_t count_labels(const Reader& labels, std::int64_t rows) {
  std::int64_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row) count += labels(row) >= 0 ? 1 : 0;
  return count;
}

}  // namespace

void cross_entropy(const Call& call, const Memory& memory) {
  const Reader logits = reader(call, memory, 0);
  const Reader labels = reader(call, memory, 1);
  const std::int64_t rows = call.in(0).rows();
  double total = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (labels(row) < 0) continue;
    const Row softmax = softmax_of(logits, row, call.in(0).width());
    total += std::log(softmax.sum) + softmax.largest - logits(row, static_cast<std::int64_t>(labels(row)));
  }
  const std::int64_t count = count_labels(labels, rows);
  writer(call, memory, 0).set(0, 0, count == 0 ? 0 : total / static_cast<double>(count));
}

void cross_entropy_gradient(const Call& call, const Memory& memory) {
  const Reader logits = reader(call, memory, 0);
  const Reader labels = reader(call, memory, 1);
  const Writer dlogits = writer(call, memory, 0);
  const std::int64_t rows = call.in(0).rows();
  const std::int64_t count = count_labels(labels, rows);
  const double share = count == 0 ? 0 : reader(call, memory, 2)(0) / static_cast<double>(count);
  parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const auto label = static_cast<std::int64_t>(labels(row));
      const Row softmax = softmax_of(logits, row, call.in(0).width());
      for (std::int64_t i = 0; i < call.in(0).width(); ++i) {
        const double p = std::exp(logits(row, i) - softmax.largest) / softmax.sum;
        dlogits.set(row, i, label < 0 ? 0 : share * (p - (i == label ? 1 : 0)));
      }
    }
  });
}

}  // namespace assay::reference
