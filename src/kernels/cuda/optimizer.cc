#include "kernels/cuda/cuda.h"
#include "kernels/cuda/formulas.h"
#include "kernels/cuda/tensor_table.h"
#include "program/update_list.h"

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

/// Rule: what becomes of element i of the packs w, g, moments: it writes the moments' packs (output 1 and on) and
/// returns the new weight. An item is eight elements of a parameter; all operands have one dtype, known to the
/// compiler, so that every load of an item is on its way before the first one is waited for.
template <typename Rule, DType dtype>
struct Update {
  using Table = TensorTable<Rule::inputs, Rule::outputs>;
  Table table;
  int tensors;
  bool aligned;  ///< Every address is one of a 16-byte word.
  Step step;
  Rule rule;

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
    UNROLLED
    for (int i = 0; i < Rule::outputs; ++i) {
      const Out out{table.out[k][i], 0, dtype};
      if (in_words && out.present()) out.set_words(first, after[i]);
      if (!in_words) out.set_pack(0, first, table.count[k], after[i]);
    }
    if (step.lost != nullptr) count_lost(k, first, before[0], weight);
  }

  ON_DEVICE In input(int k, int i) const { return {table.in[k][i], 0, dtype}; }

  /// To f32, from which storing rounds to nearest; stochastically to bf16, which storing leaves as it is.
  ON_DEVICE void round(const double* weight, std::int64_t stream, std::int64_t first, Pack& result) const {
    UNROLLED
    for (int i = 0; i < pack_width; ++i) result.value[i] = static_cast<float>(weight[i]);
    if (!step.stochastic) return;
    const RandomPack random = random_pack(step.seed, stream, first);
    UNROLLED
    for (int i = 0; i < pack_width; ++i) {
      const std::uint32_t raised = std::bit_cast<std::uint32_t>(result.value[i]) + (random[i] & 0xffffU);
      result.value[i] = std::bit_cast<float>(raised & 0xffff0000U);
    }
  }

  /// As it was stored.
  ON_DEVICE void count_lost(int k, std::int64_t first, const Pack& before, const double* weight) const {
    int lost = 0;
    UNROLLED
    for (int i = 0; i < pack_width; ++i) {
      const bool moved = first + i < table.count[k] && weight[i] != static_cast<double>(before.value[i]);
      if (moved && load(dtype, table.out[k][0], first + i) == before.value[i]) ++lost;
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
    const float rate = hyper[0];
    const float gradient = hyper[3] * before[1].value[i];
    const float mean = beta1 * before[2].value[i] + (1 - beta1) * gradient;
    const float square = beta2 * before[3].value[i] + (1 - beta2) * gradient * gradient;
    after[1].value[i] = mean;
    after[2].value[i] = square;
    const double kept = 1 - static_cast<double>(rate) * decay;
    const double value = before[0].value[i];
    if (kind == AdamW::pytorch)
      return value * kept - static_cast<double>(rate / hyper[1] * mean / (sqrtf(square / hyper[2]) + epsilon));
    const float step = rate * sqrtf(hyper[2]) / hyper[1] * mean / (sqrtf(square) + epsilon);
    return (value - static_cast<double>(step)) * kept;
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
  return {memory.in<float>(list.hyper()), memory.in<std::int32_t>(list.seed()),
          lost == nullptr ? nullptr : lost + first, call.attributes.stream + first,
          to_bf16 && call.attributes.rounding == Rounding::stochastic};
}

template <typename Rule, DType dtype>
void launch_in(const Call& call, const UpdateList& list, const Batch& batch, const Rule& rule, const Memory& memory) {
  Update<Rule, dtype> update;
  static_assert(sizeof(update) <= 4096 - sizeof(std::int64_t), "a launch takes 4 KB of arguments");
  update.tensors = static_cast<int>(batch.tensors);
  update.aligned = true;
  for (int k = 0; k < update.tensors; ++k) {
    const std::size_t parameter = batch.first + static_cast<std::size_t>(k);
    for (std::size_t i = 0; i < list.inputs_each; ++i) {
      update.table.in[k][i] = memory.in<std::byte>(list.input(parameter, i));
      update.aligned = update.aligned && is_word_aligned(update.table.in[k][i]);
    }
    for (std::size_t i = 0; i < list.outputs_each; ++i) {
      update.table.out[k][i] = memory.out<std::byte>(list.output(parameter, i));
      update.aligned = update.aligned && is_word_aligned(update.table.out[k][i]);
    }
    update.table.set_count(k, element_count(call.in(list.input(parameter, 0)).shape), pack_width);
  }
  update.step = step_of(call, list, batch, memory);
  update.rule = rule;
  for_elements(update.table.first_item[update.tensors], update);
}

template <typename Rule>
void launch(const Call& call, const UpdateList& list, const Batch& batch, const Rule& rule, const Memory& memory) {
  const DType dtype = call.in(list.input(batch.first, 0)).dtype;
  if (dtype == DType::f32) launch_in<Rule, DType::f32>(call, list, batch, rule, memory);
  if (dtype == DType::f16) launch_in<Rule, DType::f16>(call, list, batch, rule, memory);
  if (dtype == DType::bf16) launch_in<Rule, DType::bf16>(call, list, batch, rule, memory);
}

/// Whether all that is read and written of a parameter is of one dtype that kernels are made for.
bool has_one_dtype(const Call& call, const UpdateList& list, std::size_t parameter) {
  const DType dtype = call.in(list.input(parameter, 0)).dtype;
  const auto other = [dtype](const Argument& argument) { return argument.present && argument.dtype != dtype; };
  for (std::size_t i = 0; i < list.inputs_each; ++i) {
    if (other(call.in(list.input(parameter, i)))) return false;
  }
  for (std::size_t i = 0; i < list.outputs_each; ++i) {
    if (other(call.out(list.output(parameter, i)))) return false;
  }
  return dtype == DType::f32 || is_16bit(dtype);
}

template <typename Rule>
Offer prepare_update(const Call& call, const Rule& rule) {
  const UpdateList list = update_list(*call.operation, call.inputs.size());
  for (std::size_t k = 0; k < list.parameters; ++k) {
    if (!has_one_dtype(call, list, k))
      return Declined{"weight, gradient and moments are not of one dtype (f32, f16 or bf16)"};
  }
  const auto same_dtype = [&](std::size_t a, std::size_t b) {
    return call.in(list.input(a, 0)).dtype == call.in(list.input(b, 0)).dtype;
  };
  const auto parts = batches(list.parameters, Update<Rule, DType::f32>::Table::most, same_dtype);
  return offer("eight elements a thread, many parameters a launch", [=](const Memory& memory) {
    if (call.out(list.lost()).present)
      for_elements(element_count(call.out(list.lost()).shape), Zero{memory.out<std::int32_t>(list.lost())});
    for (const Batch& batch : parts) launch(call, list, batch, rule, memory);
  });
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

Offer prepare_sgd(const Call& call, const MachineFacts&) {
  return prepare_update(call, sgd_rule(call.attributes));
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
