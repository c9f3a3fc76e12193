#include <initializer_list>

#include "kernels/contract_cases.h"

namespace assay::contract {
namespace {

struct CacheShape {
  std::int64_t batch, seq, slots, heads, kv_heads, head_dim, window;
};
/// One token and a few, whole chunks and several blocks of them; few heads and many; odd widths; rings that are full;
/// so few queries that their keys are cut into parts.
constexpr CacheShape cache_shapes[] = {
    {1, 1, 70, 9, 3, 64, 0},  {3, 1, 33, 4, 4, 5, 0},    {2, 3, 300, 6, 2, 80, 0},   {3, 40, 131, 4, 2, 16, 0},
    {3, 1, 24, 4, 1, 64, 24}, {3, 5, 16, 8, 2, 128, 12}, {3, 70, 100, 2, 2, 33, 31}, {0, 2, 8, 2, 1, 8, 0},
    {2, 16, 50, 6, 2, 32, 0}, {1, 97, 200, 3, 1, 64, 0}, {1, 1, 160, 2, 1, 32, 90},
};

Attributes cache_attributes(const CacheShape& s) {
  return {.heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .scale = 0.2,
          .causal = true,
          .window = s.window};
}

constexpr DType kept_in[] = {DType::f32, DType::f16, DType::bf16, DType::s8};

Filled kept(const CacheShape& s, DType dtype) {
  return {dense(dtype, {s.batch, s.slots, s.kv_heads * s.head_dim}), dtype == DType::s8 ? Fill::whole : Fill::normal};
}

/// Of caches in s8 two such; of others none.
void add_scales(const CacheShape& s, DType dtype, std::vector<Filled>& inputs) {
  if (dtype != DType::s8) return;
  for (int i = 0; i < 2; ++i) inputs.push_back({dense(DType::f32, {s.batch, s.slots, s.kv_heads}), Fill::small});
}

Filled new_tokens(const CacheShape& s, Fill fill) {
  return fill == Fill::normal ? Filled{Argument{}} : Filled{dense(DType::u8, {s.batch, s.seq}), fill};
}

}  // namespace

std::vector<Case> append_cache_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType in : floats) {
    for (const DType out : kept_in) {
      for (const CacheShape& s : cache_shapes) {
        const Argument token = window(in, {s.batch, s.seq, s.kv_heads * s.head_dim}, 7);
        const Fill fill = s.seq % 3 == 0 ? Fill::holes : s.seq == 1 ? Fill::normal : Fill::right_padded;
        std::vector<Filled> inputs = {
            {token}, {token}, new_tokens(s, fill), {dense(DType::s32, {s.batch}), Fill::lengths}};
        inputs.insert(inputs.end(), {kept(s, out), kept(s, out)});
        add_scales(s, out, inputs);
        std::vector<Argument> outputs;
        for (std::size_t i = 4; i < inputs.size(); ++i) outputs.push_back(inputs[i].argument);
        add(cases, operation, cache_attributes(s), inputs, outputs);
      }
    }
  }
  return cases;
}

std::vector<Case> cached_attention_cases(const Operation& operation) {
  std::vector<Case> cases;
  for (const DType q : floats) {
    for (const DType dtype : kept_in) {
      for (const CacheShape& s : cache_shapes) {
        for (const Fill fill : {Fill::normal, Fill::right_padded, Fill::holes}) {
          if (fill != Fill::normal && (s.seq == 1) != (fill == Fill::holes)) continue;
          Attributes a = cache_attributes(s);
          if (s.head_dim % 2 == 1) a.cap = 1.5;
          std::vector<Filled> inputs = {{window(q, {s.batch, s.seq, s.heads * s.head_dim}, 5)}};
          inputs.insert(
              inputs.end(),
              {kept(s, dtype), kept(s, dtype), new_tokens(s, fill), {dense(DType::s32, {s.batch}), Fill::lengths}});
          add_scales(s, dtype, inputs);
          add(cases, operation, a, inputs, {dense(q, {s.batch, s.seq, s.heads * s.head_dim})});
          if (s.heads != 4) continue;
          inputs.resize(7, Filled{Argument{}});
          inputs.push_back({constant(DType::f32, {s.heads})});
          add(cases, operation, a, inputs, {dense(q, {s.batch, s.seq, s.heads * s.head_dim})});
        }
      }
    }
  }
  return cases;
}

}  // namespace assay::contract
