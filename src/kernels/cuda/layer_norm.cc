#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"

// Layer norm and root-mean-square norm, alone or of a sum that is stored too:
//   s = x [+ y],  z = (s - mean) / sqrt(mean of squares + epsilon) * gain + bias    s, z: (rows, width); rms: mean = 0
// The statistics are those of the sum before it is rounded to its stored dtype.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

struct Norm {
  Grouped<In> x, y;  ///< y: absent where nothing is added
  In gain, bias;
  Grouped<Out> sum, normal;
  std::int64_t width;
  float epsilon;
  DType math;  ///< 16 bits: every step is rounded to it, and sums are taken one by one
  bool centred;

  ON_DEVICE float round(float value) const { return rounded(math, value); }
  ON_DEVICE float value(std::int64_t row, std::int64_t i) const {
    return y.present() ? round(x(row, i) + y(row, i)) : x(row, i);
  }

  ON_DEVICE Pack values(std::int64_t row, std::int64_t first) const {
    Pack result = x.pack(row, first);
    if (!y.present()) return result;
    const Pack more = y.pack(row, first);
    for (int i = 0; i < pack_width; ++i) result.value[i] = round(result.value[i] + more.value[i]);
    return result;
  }

  /// Sum over the row of (value - centre)^power.
  ON_DEVICE float total(std::int64_t row, const Team& team, float centre, int power) const {
    float mine = 0;
    if (is_16bit(math)) {  // The order decides the result: every thread adds all of them.
      for (std::int64_t i = 0; i < width; ++i) {
        const float distance = power == 2 ? round(value(row, i) - centre) : value(row, i);
        mine = round(mine + (power == 2 ? round(distance * distance) : distance));
      }
      return mine;
    }
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      const Pack pack = values(row, first);
      for (int i = 0; i < pack_width && first + i < width; ++i) {
        const float distance = pack.value[i] - centre;
        mine += power == 2 ? distance * distance : distance;
      }
    }
    return team.sum(mine);
  }

  ON_DEVICE void operator()(std::int64_t row, const Team& team) const {
    const auto count = static_cast<float>(width);
    const float mean = centred ? round(total(row, team, 0, 1) / count) : 0;
    const float squares = round(total(row, team, mean, 2) / count);
    const float deviation = round(sqrtf(round(squares + epsilon)));
    for (std::int64_t first = team.rank * pack_width; first < width; first += team.size * pack_width) {
      const Pack from = values(row, first);
      Pack to;
      for (int i = 0; i < pack_width && first + i < width; ++i) {
        to.value[i] = round(round(from.value[i] - mean) / deviation);
        if (gain.present()) to.value[i] = round(to.value[i] * gain(first + i));
        if (bias.present()) to.value[i] = round(to.value[i] + bias(first + i));
      }
      sum.set_pack(row, first, from);
      normal.set_pack(row, first, to);
    }
  }
};

enum class Kind : std::uint8_t { layer, rms };

Offer prepare_alone(const Call& call, Kind kind) {
  return offer("a team of threads a row", [call, kind](const Memory& memory) {
    const NormRows rows = norm_rows(call.in(0), call.in(1));
    Norm norm{{input(call, memory, 0), rows},
              {{}, rows},
              input(call, memory, 1),
              {},
              {{}, rows},
              {output(call, memory, 0), rows},
              rows.width,
              static_cast<float>(call.attributes.epsilon),
              call.attributes.math,
              kind == Kind::layer};
    if (kind == Kind::layer) norm.bias = input(call, memory, 2);
    for_rows(rows.rows, packs(norm.width), norm);
  });
}

Offer prepare_with_sum(const Call& call, Kind kind) {
  return offer("a team of threads a row", [call, kind](const Memory& memory) {
    const NormRows rows{call.in(0).rows(), call.in(0).width(), 1};
    Norm norm{{input(call, memory, 0), rows},
              {input(call, memory, 1), rows},
              input(call, memory, 2),
              {},
              {output(call, memory, 0), rows},
              {output(call, memory, 1), rows},
              rows.width,
              static_cast<float>(call.attributes.epsilon),
              call.attributes.math,
              kind == Kind::layer};
    if (kind == Kind::layer) norm.bias = input(call, memory, 3);
    for_rows(rows.rows, packs(norm.width), norm);
  });
}

}  // namespace

Offer prepare_layer_norm(const Call& call, const MachineFacts&) {
  return prepare_alone(call, Kind::layer);
}
Offer prepare_rms_norm(const Call& call, const MachineFacts&) {
  return prepare_alone(call, Kind::rms);
}
Offer prepare_add_layer_norm(const Call& call, const MachineFacts&) {
  return prepare_with_sum(call, Kind::layer);
}
Offer prepare_add_rms_norm(const Call& call, const MachineFacts&) {
  return prepare_with_sum(call, Kind::rms);
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
