#include "kernels/contract_cases.h"
#include "tensor/block_format.h"

namespace assay::contract {
namespace {

constexpr std::int64_t experts = 20;

/// Widths that fill no panel, one that fills several; rows that are fewer than the experts, and many more.
struct ExpertShape {
  std::int64_t rows, in, out;
};
constexpr ExpertShape expert_shapes[] = {{1, 8, 5}, {7, 64, 33}, {96, 32, 64}, {200, 96, 70}};

const Filled expert_offsets = {dense(DType::s32, {experts + 1}), Fill::offsets};

/// Of every other shape.
Filled bias_of(const ExpertShape& s) {
  return {s.out % 2 == 1 ? constant(DType::f32, {s.out}) : Argument{}};
}

/// Dtypes of rows, of weights that change, and what those are rounded to.
struct TrainedExpert {
  DType x, weight, operand;
};
constexpr TrainedExpert trained_experts[] = {{DType::f32, DType::f32, DType::f32},
                                             {DType::bf16, DType::bf16, DType::f32},
                                             {DType::f16, DType::f16, DType::f32},
                                             {DType::bf16, DType::f32, DType::bf16}};

/// Behind each weight of expert_linear is the place of a bias.
std::vector<Filled> with_weights(const Operation& operation, std::vector<Filled> inputs, const TrainedExpert& d,
                                 const ExpertShape& s) {
  for (std::int64_t e = 0; e < experts; ++e) {
    inputs.push_back({dense(d.weight, {s.out, s.in}), Fill::weights});
    if (&operation == &op::expert_linear) inputs.push_back({Argument{}});
  }
  return inputs;
}

}  // namespace

std::vector<Case> route_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for (const std::int64_t active : {1, 2, 7}) {
      for (const bool normalised : {false, true}) {
        const Attributes a = {.experts = 9, .active_experts = active, .normalised = normalised};
        add(cases, operation, a, {{window(in, {3, 5, 9}, 2)}},
            {dense(DType::f32, {3, 5, active}), dense(DType::s32, {3, 5, active})});
      }
    }
  }
  return cases;
}

std::vector<Case> group_rows_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const std::int64_t active : {1, 3}) {
      const std::int64_t rows = 2 * 11 * active;
      add(cases, operation, {.experts = experts},
          {{window(dtype, {2, 11, 13}, 3)}, {dense(DType::s32, {2, 11, active}), Fill::few_ids}},
          {dense(dtype, {rows, 13}), dense(DType::s32, {rows}), dense(DType::s32, {experts + 1})});
    }
  }
  return cases;
}

/// Of merge_rows and of the gradient of group_rows, which counts each row once.
std::vector<Case> merge_rows_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const std::int64_t active : {1, 3}) {
      for (const std::int64_t width : {1, 37, 128}) {
        const std::int64_t rows = 2 * 11 * active;
        const Filled of_tokens = &operation == &op::merge_rows
                                     ? Filled{dense(DType::f32, {2, 11, active})}
                                     : Filled{dense(DType::s32, {2, 11, active}), Fill::few_ids};
        add(cases, operation, {},
            {{window(dtype, {rows, width}, 5)}, {dense(DType::s32, {rows}), Fill::reversed}, of_tokens},
            {window(dtype, {2, 11, width}, 1)});
      }
    }
  }
  return cases;
}

std::vector<Case> expert_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  const std::pair<DType, DType> dtypes[] = {
      {DType::f32, DType::f32}, {DType::bf16, DType::bf16}, {DType::f16, DType::f16}, {DType::f32, DType::bf16}};
  for (const auto& [x, weight] : dtypes) {
    for (const ExpertShape& s : expert_shapes) {
      std::vector<Filled> inputs = {{window(x, {s.rows, s.in}, 8)}};
      inputs.push_back(expert_offsets);
      for (std::int64_t e = 0; e < experts; ++e) {
        inputs.push_back({constant(weight, {s.out, s.in}), Fill::weights});
        inputs.push_back(bias_of(s));
      }
      add(cases, operation, {}, inputs, {window(x, {s.rows, s.out}, 2)});
    }
  }
  for (const TrainedExpert& d : trained_experts) {
    for (const ExpertShape& s : expert_shapes) {
      add(cases, operation, {.operand = d.operand},
          with_weights(operation, {{window(d.x, {s.rows, s.in}, 8)}, expert_offsets}, d, s),
          {window(d.x, {s.rows, s.out}, 2)});
    }
  }
  return cases;
}

std::vector<Case> expert_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const TrainedExpert& d : trained_experts) {
    for (const ExpertShape& s : expert_shapes) {
      const Filled dy = {window(d.x, {s.rows, s.out}, 5)};
      if (&operation == &op::expert_linear_weight_gradient) {
        add(cases, operation, {.experts = experts}, {dy, {window(d.x, {s.rows, s.in}, 3)}, expert_offsets},
            std::vector<Argument>(experts, dense(d.weight, {s.out, s.in})));
      } else {
        add(cases, operation, {.operand = d.operand}, with_weights(operation, {dy, expert_offsets}, d, s),
            {dense(d.x, {s.rows, s.in})});
      }
    }
  }
  return cases;
}

std::vector<Case> route_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType logits : floats) {
    for (const std::int64_t active : {1, 2, 7}) {
      for (const bool normalised : {false, true}) {
        const Shape chosen = {3, 5, active};
        add(cases, operation, {.experts = experts, .active_experts = active, .normalised = normalised},
            {{dense(DType::f32, chosen)},
             {window(logits, {3, 5, experts}, 2)},
             {dense(DType::f32, chosen), Fill::small},
             {dense(DType::s32, chosen), Fill::few_ids}},
            {dense(logits, {3, 5, experts})});
      }
    }
  }
  return cases;
}

std::vector<Case> merge_rows_gradient_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType dtype : floats) {
    for (const std::int64_t active : {1, 3}) {
      for (const std::int64_t width : {1, 37, 128}) {
        const std::int64_t rows = 2 * 11 * active;
        add(cases, operation, {},
            {{window(dtype, {2, 11, width}, 3)},
             {window(dtype, {rows, width}, 5)},
             {dense(DType::s32, {rows}), Fill::reversed},
             {dense(DType::f32, {2, 11, active})}},
            {window(dtype, {rows, width}, 1), dense(DType::f32, {2, 11, active})});
      }
    }
  }
  return cases;
}

std::vector<Case> expert_quantized_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType x : {DType::s8, DType::bf16, DType::f32}) {
    for (const ExpertShape& s : expert_shapes) {
      const bool whole = x == DType::s8;
      std::vector<Filled> inputs = {{dense(x, {s.rows, s.in}), whole ? Fill::whole : Fill::normal},
                                    whole ? Filled{dense(DType::f32, {s.rows}), Fill::small} : Filled{Argument{}}};
      inputs.push_back(expert_offsets);
      for (std::int64_t e = 0; e < experts; ++e) {
        inputs.push_back({constant(DType::s8, {s.out, s.in}), Fill::whole});
        inputs.push_back({constant(DType::f32, {s.out}), Fill::small});
        inputs.push_back(bias_of(s));
      }
      add(cases, operation, {}, inputs, {dense(whole ? DType::f32 : x, {s.rows, s.out})});
    }
  }
  return cases;
}

std::vector<Case> expert_block_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : block_formats()) {
    const ExpertShape s = {37, format->elements, 33};
    std::vector<Filled> inputs = {{dense(DType::f32, {s.rows, s.in})}};
    inputs.push_back(expert_offsets);
    for (std::int64_t e = 0; e < experts; ++e) {
      inputs.push_back({constant(DType::u8, {s.out, format->bytes_of(s.in)}), Fill::blocks});
      inputs.push_back(bias_of(s));
    }
    add(cases, operation, {.blocks = format}, inputs, {dense(DType::f32, {s.rows, s.out})});
  }
  return cases;
}

std::vector<Case> expert_quantized_block_linear_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const BlockFormat* format : {&blocks::q4_0, &blocks::q4_k, &blocks::int4z_g128}) {
    const ExpertShape s = {37, format->elements + 40, 33};
    std::vector<Filled> inputs = {{dense(DType::s8, {s.rows, s.in}), Fill::whole},
                                  {dense(DType::f32, {s.rows, activation_groups(s.in)}), Fill::small},
                                  expert_offsets};
    for (std::int64_t e = 0; e < experts; ++e) {
      inputs.push_back({constant(DType::u8, {s.out, format->bytes_of(s.in)}), Fill::blocks});
      inputs.push_back(bias_of(s));
    }
    add(cases, operation, {.blocks = format}, inputs, {dense(DType::f32, {s.rows, s.out})});
  }
  return cases;
}

}  // namespace assay::contract
