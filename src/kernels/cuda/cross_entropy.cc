#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// loss = mean over rows with a label >= 0 of log(sum of e^logit) - logit[label]    logits: (rows, V), labels: (rows)
// dlogits = dloss / count * (softmax - one at the label); rows without a label: 0
// No f32 copy of the logits is stored: each row is read twice, its largest and its sum found in one pass.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct RowSoftmax {
  float largest;
  float sum;  ///< of e^(logit - largest)
};

/// Each thread keeps a largest and a sum of its own, rescaled where the largest grows (Milakov & Gimelshein 2018).
ON_DEVICE inline RowSoftmax softmax_of(const In& logits, std::int64_t row, std::int64_t width, const Team& team) {
  float largest = -INFINITY;
  float sum = 0;
  for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
    const Pack pack = logits.pack(row, first, width);
    float most = largest;
    for (int i = 0; i < pack_width && first + i < width; ++i) most = fmaxf(most, pack.value[i]);
    sum *= expf(largest - most);
    largest = most;
    for (int i = 0; i < pack_width && first + i < width; ++i) sum += expf(pack.value[i] - largest);
  }
  const float most = team.max(largest);
  return {most, team.sum(sum == 0 ? 0 : sum * expf(largest - most))};
}

struct RowLoss {
  In logits;
  const std::int32_t* labels;
  float* loss;  ///< (rows)
  std::int64_t width;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const std::int32_t label = labels[row];
    const RowSoftmax softmax = softmax_of(logits, row, width, team);
    if (team.rank == 0) loss[row] = label < 0 ? 0 : logf(softmax.sum) + softmax.largest - logits(row, label);
  }
};

ON_DEVICE inline float count_labels(const std::int32_t* labels, std::int64_t rows, const Team& team) {
  float mine = 0;
  for (std::int64_t row = team.rank; row < rows; row += team.size) mine += labels[row] >= 0 ? 1 : 0;
  return team.sum(mine);
}

struct MeanLoss {
  const std::int32_t* labels;
  const float* loss;
  Out mean;
  std::int64_t rows;

  ON_DEVICE void operator()(std::int64_t, const Team& team) const {
    float mine = 0;
    for (std::int64_t row = team.rank; row < rows; row += team.size) mine += loss[row];
    const float total = team.sum(mine);
    const float count = count_labels(labels, rows, team);
    if (team.rank == 0) mean.set(0, 0, count == 0 ? 0 : total / count);
  }
};

struct LogitGradient {
  In logits;
  const std::int32_t* labels;
  In dloss;
  Out dlogits;
  std::int64_t rows, width;

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const std::int32_t label = labels[row];
    const float count = count_labels(labels, rows, team);
    const float share = count == 0 || label < 0 ? 0 : dloss(0) / count;
    const RowSoftmax softmax = softmax_of(logits, row, width, team);
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      Pack pack = logits.pack(row, first, width);
      for (int i = 0; i < pack_width; ++i)
        pack.value[i] = share * (expf(pack.value[i] - softmax.largest) / softmax.sum - (first + i == label ? 1 : 0));
      dlogits.set_pack(row, first, width, pack);
    }
  }
};

}  // namespace

Offer prepare_cross_entropy(const Call& call, const MachineFacts&) {
  if (call.in(1).dtype != DType::s32) return Declined{"labels are not s32"};
  const auto run = [call](const Memory& memory) {
    const std::int64_t rows = call.in(0).rows();
    const std::int64_t width = call.in(0).width();
    auto* loss = reinterpret_cast<float*>(memory.workspace);
    const auto* labels = memory.in<std::int32_t>(1);
    for_rows(rows, packs(width), RowLoss{input(call, memory, 0), labels, loss, width});
    for_rows(1, rows, MeanLoss{labels, loss, output(call, memory, 0), rows});
  };
  return offer("a team of threads a row", run, static_cast<std::size_t>(call.in(0).rows()) * sizeof(float));
}

Offer prepare_cross_entropy_gradient(const Call& call, const MachineFacts&) {
  if (call.in(1).dtype != DType::s32) return Declined{"labels are not s32"};
  return offer("a team of threads a row", [call](const Memory& memory) {
    const std::int64_t rows = call.in(0).rows();
    const std::int64_t width = call.in(0).width();
    for_rows(rows, packs(width),
             LogitGradient{input(call, memory, 0), memory.in<std::int32_t>(1), input(call, memory, 2),
                           output(call, memory, 0), rows, width});
  });
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
