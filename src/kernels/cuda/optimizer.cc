#include <algorithm>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"
#include "kernels/cuda/tensor_table.h"
#include "program/update_list.h"
#include "tensor/dynamic_map.h"

// l2_norm: sqrt of the sum of squares, in f32 partial sums that are always added in the same order
// adamw, sgd: see program/operations/optimizer.cc. The step is f32; the new weight is f64 until it is rounded, so that
// an update that the weight's dtype loses is seen and counted.
// All of them take as many tensors in one launch as its arguments name: a step of a model has hundreds.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

constexpr std::int64_t elements_of_a_part = 16 * 1024;  ///< That one team sums: enough to be worth its start.

using NormTable = TensorTable<1, 1>;  ///< x, and its partial sums.

struct SumOfSquares {
  NormTable table;
  int tensors;
  DType dtype;

  ON_DEVICE void operator()(std::int64_t part, const Team& team) const {
    const int k = table.tensor_of(part, tensors);
    const std::int64_t mine_first = (part - table.first_item[k]) * elements_of_a_part;
    const std::int64_t count = table.count[k];
    const std::int64_t end = count - mine_first < elements_of_a_part ? count : mine_first + elements_of_a_part;
    const In x{table.in[k][0], 0, dtype};
    float sum = 0;
    for (std::int64_t i = mine_first + team.rank * pack_width; i < end; i += team.size * pack_width) {
      const Pack pack = x.pack(0, i, count);
      for (const float value : pack.value) sum += value * value;
    }
    sum = team.sum(sum);
    if (team.rank == 0) reinterpret_cast<float*>(table.out[k][0])[part - table.first_item[k]] = sum;
  }
};

struct RootOfSums {
  NormTable table;
  Out norms;
  std::int64_t first;  ///< Of the table's tensors in the list.

  ON_DEVICE void operator()(std::int64_t k, const Team& team) const {
    const auto* partial = reinterpret_cast<const float*>(table.out[k][0]);
    const std::int64_t parts = table.first_item[k + 1] - table.first_item[k];
    float sum = 0;
    for (std::int64_t part = team.rank; part < parts; part += team.size) sum += partial[part];
    sum = team.sum(sum);
    if (team.rank == 0) norms.set(0, first + k, sqrtf(sum));
  }
};

/// What an optimizer's step has besides its parameters' own tensors.
struct Step {
  const float* hyper;  ///< rate, corrections of the moments, coefficient of the gradient
  const std::int32_t* seed;
  std::int32_t* lost;   ///< Of the table's first parameter: counts updates that rounding took back. Null: not wanted.
  std::int64_t stream;  ///< Of the table's first parameter.
  bool stochastic;
  bool state_stochastic;  ///< Of moments in bf16.
};

/// All operands of one dtype, known to the compiler.
template <DType dtype>
struct OneDtype {
  ON_DEVICE DType in(int) const { return dtype; }
  ON_DEVICE DType out(int) const { return dtype; }
};

/// Of each input its own; outputs have those of what they are written over.
struct OwnDtypes {
  DType of[4];
  ON_DEVICE DType in(int i) const { return of[i]; }
  ON_DEVICE DType out(int i) const { return of[i == 0 ? 0 : i + 1]; }
};

struct Zero {
  std::int32_t* value;
  ON_DEVICE void operator()(std::int64_t i) const { value[i] = 0; }
};

ON_DEVICE inline void add_to(std::int32_t* count, int more) {
#ifdef __CUDA_ARCH__
  atomicAdd(count, more);
#else
  *count += more;
#endif
}

/// Up or down with a probability that makes the mean exact: random bits are added below bf16's last one.
ON_DEVICE inline float rounded_at_random(float value, std::uint32_t random) {
  const std::uint32_t raised = std::bit_cast<std::uint32_t>(value) + (random & 0xffffU);
  return std::bit_cast<float>(raised & 0xffff0000U);
}

/// Rule: what becomes of element i of the packs w, g, moments: it writes the moments' packs (output 1 and on) and
/// returns the new weight. An item is eight elements of a parameter; where all operands have one dtype, known to the
/// compiler, every load of an item is on its way before the first one is waited for.
template <typename Rule, typename Dtypes>
struct Update {
  using Table = TensorTable<Rule::inputs, Rule::outputs>;
  Table table;
  int tensors;
  bool aligned;  ///< Every address is one of a 16-byte word.
  Step step;
  Rule rule;
  Dtypes dtypes;

  ON_DEVICE void operator()(std::int64_t item) const {
    const int k = table.tensor_of(item, tensors);
    const std::int64_t first = (item - table.first_item[k]) * pack_width;
    const bool in_words = aligned && first + pack_width <= table.count[k];
    Pack before[Rule::inputs] = {};
    if (in_words) {
      UNROLLED
      for (int i = 0; i < Rule::inputs; ++i) {
        if (i < Rule::always || input(k, i).present()) before[i] = input(k, i).words(first);
      }
    } else {
      UNROLLED
      for (int i = 0; i < Rule::inputs; ++i) {
        if (input(k, i).present()) before[i] = input(k, i).pack(0, first, table.count[k]);
      }
    }
    Pack after[Rule::outputs];
    double weight[pack_width];
    UNROLLED
    for (int i = 0; i < pack_width; ++i) weight[i] = rule(step.hyper, before, i, after);
    round(weight, step.stream + k, first, after[0]);
    round_moments(step.stream + k, first, after);
    UNROLLED
    for (int i = 0; i < Rule::outputs; ++i) {
      const Out out{table.out[k][i], 0, dtypes.out(i)};
      if (in_words && out.present()) out.set_words(first, after[i]);
      if (!in_words) out.set_pack(0, first, table.count[k], after[i]);
    }
    if (step.lost != nullptr) count_lost(k, first, before[0], weight);
  }

  ON_DEVICE In input(int k, int i) const { return {table.in[k][i], 0, dtypes.in(i)}; }

  /// To f32, from which storing rounds to nearest; stochastically to bf16, which storing leaves as it is.
  ON_DEVICE void round(const double* weight, std::int64_t stream, std::int64_t first, Pack& result) const {
    UNROLLED
    for (int i = 0; i < pack_width; ++i) result.value[i] = static_cast<float>(weight[i]);
    if (!step.stochastic) return;
    const RandomPack random = random_pack(step.seed, stream, first);
    UNROLLED
    for (int i = 0; i < pack_width; ++i) result.value[i] = rounded_at_random(result.value[i], random[i]);
  }

  /// The mean draws from the low half of a word, the square from the high one.
  ON_DEVICE void round_moments(std::int64_t stream, std::int64_t first, Pack* after) const {
    if (!step.state_stochastic) return;
    const RandomPack random = random_pack(step.seed, stream + state_stream, first);
    UNROLLED
    for (int m = 1; m < Rule::outputs; ++m) {
      if (dtypes.out(m) != DType::bf16) continue;
      UNROLLED
      for (int i = 0; i < pack_width; ++i)
        after[m].value[i] = rounded_at_random(after[m].value[i], m == 1 ? random[i] : random[i] >> 16);
    }
  }

  /// As it was stored.
  ON_DEVICE void count_lost(int k, std::int64_t first, const Pack& before, const double* weight) const {
    int lost = 0;
    UNROLLED
    for (int i = 0; i < pack_width; ++i) {
      const bool moved = first + i < table.count[k] && weight[i] != static_cast<double>(before.value[i]);
      if (moved && load(dtypes.out(0), table.out[k][0], first + i) == before.value[i]) ++lost;
    }
    if (lost > 0) add_to(step.lost + k, lost);
  }
};

struct AdamRule {
  static constexpr int inputs = 4;
  static constexpr int outputs = 3;
  static constexpr int always = 4;  ///< Inputs that are never absent.
  float beta1, beta2, epsilon;
  double decay;
  AdamW kind;

  ON_DEVICE double operator()(const float* hyper, const Pack* before, int i, Pack* after) const {
    after[1].value[i] = mean(hyper, before[1].value[i], before[2].value[i]);
    after[2].value[i] = square(hyper, before[1].value[i], before[3].value[i]);
    return weight(hyper, before[0].value[i], after[1].value[i], after[2].value[i]);
  }

  ON_DEVICE float mean(const float* hyper, float gradient, float before) const {
    return beta1 * before + (1 - beta1) * (hyper[3] * gradient);
  }
  ON_DEVICE float square(const float* hyper, float stored_gradient, float before) const {
    const float gradient = hyper[3] * stored_gradient;
    return beta2 * before + (1 - beta2) * gradient * gradient;
  }
  /// From the new moments.
  ON_DEVICE double weight(const float* hyper, double before, float mean, float square) const {
    const float rate = hyper[0];
    const double kept = 1 - static_cast<double>(rate) * decay;
    if (kind == AdamW::pytorch)
      return before * kept - static_cast<double>(rate / hyper[1] * mean / (sqrtf(square / hyper[2]) + epsilon));
    const float step = rate * sqrtf(hyper[2]) / hyper[1] * mean / (sqrtf(square) + epsilon);
    return (before - static_cast<double>(step)) * kept;
  }
};

/// Momentum that is absent reads as zeros.
struct SgdRule {
  static constexpr int inputs = 3;
  static constexpr int outputs = 2;
  static constexpr int always = 2;
  float beta1, decay;

  ON_DEVICE double operator()(const float* hyper, const Pack* before, int i, Pack* after) const {
    float step = hyper[3] * before[1].value[i] + decay * before[0].value[i];
    step += beta1 * before[2].value[i];
    after[1].value[i] = step;
    return static_cast<double>(before[0].value[i]) - static_cast<double>(hyper[0]) * static_cast<double>(step);
  }
};

AdamRule adam_rule(const Attributes& a) {
  return {static_cast<float>(a.beta1), static_cast<float>(a.beta2), static_cast<float>(a.epsilon), a.weight_decay,
          a.adamw};
}

SgdRule sgd_rule(const Attributes& a) {
  return {static_cast<float>(a.beta1), static_cast<float>(a.weight_decay)};
}

Step step_of(const Call& call, const UpdateList& list, const Batch& batch, const Memory& memory) {
  const auto first = static_cast<std::int64_t>(batch.first);
  auto* lost = memory.out<std::int32_t>(list.lost());
  const bool to_bf16 = call.in(list.input(batch.first, 0)).dtype == DType::bf16;
  return {memory.in<float>(list.hyper()),
          memory.in<std::int32_t>(list.seed()),
          lost == nullptr ? nullptr : lost + first,
          call.attributes.stream + first,
          to_bf16 && call.attributes.rounding == Rounding::stochastic,
          call.attributes.state_rounding == Rounding::stochastic};
}

/// Writes where a batch's operands lie; whether all addresses are those of 16-byte words.
template <typename Table>
bool fill(Table& table, const Call& call, const UpdateList& list, const Batch& batch, std::int64_t item_elements,
          const Memory& memory) {
  bool aligned = true;
  for (int k = 0; k < static_cast<int>(batch.tensors); ++k) {
    const std::size_t parameter = batch.first + static_cast<std::size_t>(k);
    for (std::size_t i = 0; i < list.inputs_each; ++i) {
      table.in[k][i] = memory.in<std::byte>(list.input(parameter, i));
      aligned = aligned && is_word_aligned(table.in[k][i]);
    }
    for (std::size_t i = 0; i < list.outputs_each; ++i) {
      table.out[k][i] = memory.out<std::byte>(list.output(parameter, i));
      aligned = aligned && is_word_aligned(table.out[k][i]);
    }
    table.set_count(k, element_count(call.in(list.input(parameter, 0)).shape), item_elements);
  }
  return aligned;
}

template <typename Rule, typename Dtypes>
void launch_in(const Call& call, const UpdateList& list, const Batch& batch, const Rule& rule, const Dtypes& dtypes,
               const Memory& memory) {
  Update<Rule, Dtypes> update;
  update.tensors = static_cast<int>(batch.tensors);
  update.aligned = fill(update.table, call, list, batch, pack_width, memory);
  update.step = step_of(call, list, batch, memory);
  update.rule = rule;
  update.dtypes = dtypes;
  for_elements(update.table.first_item[update.tensors], update);
}

DType dtype_of(const Call& call, const UpdateList& list, std::size_t parameter, std::size_t operand) {
  return call.in(list.input(parameter, operand)).dtype;
}

/// Whether all that is read and written of a parameter has the weight's dtype.
bool has_one_dtype(const Call& call, const UpdateList& list, std::size_t parameter) {
  for (std::size_t i = 1; i < list.inputs_each; ++i) {
    const Argument& argument = call.in(list.input(parameter, i));
    if (argument.present && argument.dtype != dtype_of(call, list, parameter, 0)) return false;
  }
  return true;
}

template <typename Rule>
void launch(const Call& call, const UpdateList& list, const Batch& batch, const Rule& rule, const Memory& memory) {
  const DType dtype = dtype_of(call, list, batch.first, 0);
  if (!has_one_dtype(call, list, batch.first)) {
    OwnDtypes own = {};
    for (std::size_t i = 0; i < list.inputs_each; ++i) own.of[i] = dtype_of(call, list, batch.first, i);
    return launch_in(call, list, batch, rule, own, memory);
  }
  if (dtype == DType::f32) launch_in(call, list, batch, rule, OneDtype<DType::f32>(), memory);
  if (dtype == DType::f16) launch_in(call, list, batch, rule, OneDtype<DType::f16>(), memory);
  if (dtype == DType::bf16) launch_in(call, list, batch, rule, OneDtype<DType::bf16>(), memory);
}

bool is_updated_float(DType dtype) {
  return dtype == DType::f32 || is_16bit(dtype);
}

/// Whether kernels are made for what is read of a parameter, and what is written has the dtypes of what it is written
/// over.
bool has_known_dtypes(const Call& call, const UpdateList& list, std::size_t parameter) {
  for (std::size_t i = 0; i < list.inputs_each; ++i) {
    const Argument& in = call.in(list.input(parameter, i));
    if (in.present && !is_updated_float(in.dtype)) return false;
  }
  for (std::size_t i = 0; i < list.outputs_each; ++i) {
    const Argument& out = call.out(list.output(parameter, i));
    if (out.present && out.dtype != dtype_of(call, list, parameter, UpdateList::input_of(i))) return false;
  }
  return true;
}

void clear_counts(const Call& call, const UpdateList& list, const Memory& memory) {
  if (call.out(list.lost()).present)
    for_elements(element_count(call.out(list.lost()).shape), Zero{memory.out<std::int32_t>(list.lost())});
}

template <typename Rule>
Offer prepare_update(const Call& call, const Rule& rule) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  for (std::size_t k = 0; k < list.parameters; ++k) {
    if (!has_known_dtypes(call, list, k))
      return Declined{"weight, gradient and moments are not all f32, f16 or bf16, or change their dtype"};
  }
  const auto same_dtypes = [&](std::size_t a, std::size_t b) {
    for (std::size_t i = 0; i < list.inputs_each; ++i) {
      if (dtype_of(call, list, a, i) != dtype_of(call, list, b, i)) return false;
    }
    return true;
  };
  const auto parts = batches(list.parameters, Update<Rule, OwnDtypes>::Table::most, same_dtypes);
  return offer("eight elements a thread, many parameters a launch", [=](const Memory& memory) {
    clear_counts(call, list, memory);
    for (const Batch& batch : parts) launch(call, list, batch, rule, memory);
  });
}

/// The maps' magnitudes by their numbers: they travel with the launch.
struct Magnitudes {
  float of_mean[signed_magnitudes.value.size()];
  float of_square[unsigned_magnitudes.value.size()];
};

/// Moments in blocks of codes. A team takes a block: it looks for the largest magnitudes first, and then computes once
/// more what it stores, which costs less than keeping it.
struct BlockUpdate {
  using Table = TensorTable<6, 5, table_bytes - sizeof(Magnitudes)>;
  Table table;
  int tensors;
  std::int64_t width;
  DType weight;
  DType gradient;
  Step step;
  AdamRule rule;
  Magnitudes magnitudes;

  ON_DEVICE void operator()(std::int64_t item, const Team& team) const {
    const int k = table.tensor_of(item, tensors);
    const std::int64_t block = item - table.first_item[k];
    const std::int64_t first = block * width;
    const std::int64_t end = table.count[k] - first < width ? table.count[k] : first + width;
    const float scales[2] = {reinterpret_cast<const float*>(table.in[k][4])[block],
                             reinterpret_cast<const float*>(table.in[k][5])[block]};
    float most_mean = 0;
    float most_square = 0;
    float unbounded = 0;
    for (std::int64_t i = first + team.rank; i < end; i += team.size) {
      const Moments to = moments(k, i, scales);
      most_mean = fmaxf(most_mean, fabsf(to.mean));
      most_square = fmaxf(most_square, to.square);
      if (!(fabsf(to.mean) <= most_finite && to.square <= most_finite)) unbounded = 1;
    }
    const bool finite = team.max(unbounded) == 0;
    const float new_mean = finite ? team.max(most_mean) : unbounded_scale(team, most_mean);
    const float new_square = finite ? team.max(most_square) : unbounded_scale(team, most_square);
    team.wait();
    float lost = 0;  // At most `width`, which is exact.
    for (std::int64_t i = first + team.rank; i < end; i += team.size) {
      const Moments to = moments(k, i, scales);
      lost += update_weight(k, i, to) ? 1 : 0;
      const std::uint32_t mean = nearest(magnitudes.of_mean, share(fabsf(to.mean), new_mean));
      const std::uint32_t square = nearest(magnitudes.of_square, share(to.square, new_square));
      reinterpret_cast<std::uint8_t*>(table.out[k][1])[i] = static_cast<std::uint8_t>(signed_code(mean, to.mean < 0));
      reinterpret_cast<std::uint8_t*>(table.out[k][2])[i] = static_cast<std::uint8_t>(square);
    }
    if (step.lost != nullptr) lost = team.sum(lost);
    if (team.rank != 0) return;
    reinterpret_cast<float*>(table.out[k][3])[block] = new_mean;
    reinterpret_cast<float*>(table.out[k][4])[block] = new_square;
    if (step.lost != nullptr && lost > 0) add_to(step.lost + k, static_cast<int>(lost));
  }

 private:
  static constexpr float most_finite = 3.4028234664e38F;
  struct Moments {
    float mean, square;
  };

  /// NaN, once every member has joined in the maximum.
  ON_DEVICE static float unbounded_scale(const Team& team, float value) {
    return team.max(value) * 0.0F + std::bit_cast<float>(0x7fc00000U);
  }

  ON_DEVICE static float share(float magnitude, float scale) {
    if (!(scale > 0)) return 0;
    const float result = magnitude / scale;
    return result < 1 ? result : 1;
  }

  ON_DEVICE Moments moments(int k, std::int64_t i, const float* scales) const {
    const std::uint8_t m = reinterpret_cast<const std::uint8_t*>(table.in[k][2])[i];
    const std::uint8_t v = reinterpret_cast<const std::uint8_t*>(table.in[k][3])[i];
    const float* of_mean = magnitudes.of_mean;
    const float mean = m >= signed_zero ? of_mean[m - signed_zero] : -of_mean[signed_zero - m];
    const float g = load(gradient, table.in[k][1], i);
    return {rule.mean(step.hyper, g, mean * scales[0]),
            rule.square(step.hyper, g, magnitudes.of_square[v] * scales[1])};
  }

  /// DynamicMagnitudes::nearest.
  template <std::size_t count>
  ON_DEVICE static std::uint32_t nearest(const float (&values)[count], float x) {
    std::uint32_t low = 0;
    for (std::uint32_t high = static_cast<std::uint32_t>(count) - 1; low < high;) {
      const std::uint32_t middle = (low + high) / 2;
      if (x > (values[middle] + values[middle + 1]) * 0.5F)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  /// Whether rounding took the update back.
  ON_DEVICE bool update_weight(int k, std::int64_t i, const Moments& to) const {
    const float before = load(weight, table.in[k][0], i);
    const double after = rule.weight(step.hyper, before, to.mean, to.square);
    float stored = static_cast<float>(after);
    if (step.stochastic) stored = rounded_at_random(stored, random_word(step.seed, step.stream + k, i));
    store(weight, table.out[k][0], i, stored);
    return after != static_cast<double>(before) && load(weight, table.out[k][0], i) == before;
  }
};

void launch_blocks(const Call& call, const UpdateList& list, const Batch& batch, const Memory& memory) {
  BlockUpdate update;
  update.tensors = static_cast<int>(batch.tensors);
  update.width = call.attributes.width;
  update.weight = dtype_of(call, list, batch.first, 0);
  update.gradient = dtype_of(call, list, batch.first, 1);
  fill(update.table, call, list, batch, update.width, memory);
  update.step = step_of(call, list, batch, memory);
  update.rule = adam_rule(call.attributes);
  std::ranges::copy(signed_magnitudes.value, update.magnitudes.of_mean);
  std::ranges::copy(unsigned_magnitudes.value, update.magnitudes.of_square);
  for_rows(update.table.first_item[update.tensors], 32, update);
}

std::int64_t parts_of(const Argument& x) {
  return (element_count(x.shape) + elements_of_a_part - 1) / elements_of_a_part;
}

}  // namespace

Offer prepare_l2_norm(const Call& call, const MachineFacts&) {
  const auto same_dtype = [&](std::size_t a, std::size_t b) { return call.in(a).dtype == call.in(b).dtype; };
  const auto lists = batches(call.inputs.size(), NormTable::most, same_dtype);
  std::int64_t partials = 0;
  for (const Argument& x : call.inputs) partials += parts_of(x);
  const auto run = [call, lists](const Memory& memory) {
    std::byte* partial = memory.workspace;
    for (const Batch& batch : lists) {
      SumOfSquares sums{{}, static_cast<int>(batch.tensors), call.in(batch.first).dtype};
      for (int k = 0; k < sums.tensors; ++k) {
        const std::size_t index = batch.first + static_cast<std::size_t>(k);
        sums.table.in[k][0] = memory.in<std::byte>(index);
        sums.table.out[k][0] = partial;
        sums.table.set_count(k, element_count(call.in(index).shape), elements_of_a_part);
        partial += static_cast<std::size_t>(parts_of(call.in(index))) * sizeof(float);
      }
      for_rows(sums.table.first_item[sums.tensors], 256, sums);
      for_rows(sums.tensors, 256,
               RootOfSums{sums.table, output(call, memory, 0), static_cast<std::int64_t>(batch.first)});
    }
  };
  return offer("two passes, always in the same order, many tensors a launch", run,
               static_cast<std::size_t>(partials) * sizeof(float));
}

Offer prepare_adamw(const Call& call, const MachineFacts&) {
  return prepare_update(call, adam_rule(call.attributes));
}

Offer prepare_block_adamw(const Call& call, const MachineFacts&) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  for (std::size_t k = 0; k < list.parameters; ++k) {
    if (!is_updated_float(dtype_of(call, list, k, 0)) || !is_updated_float(dtype_of(call, list, k, 1)))
      return Declined{"weight or gradient is not f32, f16 or bf16"};
  }
  const auto same_dtypes = [&](std::size_t a, std::size_t b) {
    return dtype_of(call, list, a, 0) == dtype_of(call, list, b, 0) &&
           dtype_of(call, list, a, 1) == dtype_of(call, list, b, 1);
  };
  const auto parts = batches(list.parameters, BlockUpdate::Table::most, same_dtypes);
  return offer("a team a block of codes", [=](const Memory& memory) {
    clear_counts(call, list, memory);
    for (const Batch& batch : parts) launch_blocks(call, list, batch, memory);
  });
}

Offer prepare_sgd(const Call& call, const MachineFacts&) {
  return prepare_update(call, sgd_rule(call.attributes));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
