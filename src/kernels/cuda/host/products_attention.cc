#include "kernels/cuda/host/stored_scores.h"

// Attention and its parts by the library's batched products.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// A part by itself: a and b are the inputs `a` and `b`.
Offer offer_part(const Made& made, std::size_t a, std::size_t b) {
  if (const auto* declined = std::get_if<Declined>(&made)) return *declined;
  const HeadsProduct& heads = std::get<HeadsProduct>(made);
  Prepared prepared = offer_heads(heads);
  prepared.kernel = make_kernel([heads, a, b](const Memory& memory) {
    heads.run({memory.in<std::byte>(a), memory.in<std::byte>(b), memory.out<std::byte>(0), nullptr, nullptr,
               memory.workspace},
              heads.g.batches);
  });
  return prepared;
}

}  // namespace

Offer prepare_library_attention_scores(const Call& call, const MachineFacts&) {
  const Geometry g = geometry_of(call, call.in(0).shape[0], call.in(0).shape[1]);
  if (const char* fault = fault_of(call, g)) return Declined{fault};
  return offer_part(make_scores(g, tokens(call.in(0)), tokens(call.in(1)), call.out(0).dtype, call.attributes.scale), 1,
                    0);
}

Offer prepare_library_attention_context(const Call& call, const MachineFacts&) {
  const Geometry g = geometry_of(call, call.in(0).shape[0], call.in(0).shape[3]);
  if (const char* fault = fault_of(call, g)) return Declined{fault};
  return offer_part(make_context(g, call.in(0).dtype, tokens(call.in(1)), tokens(call.out(0)), call.attributes.scale),
                    1, 0);
}

Offer prepare_library_attention_context_transposed(const Call& call, const MachineFacts&) {
  const Geometry g = geometry_of(call, call.in(0).shape[0], call.in(0).shape[3]);
  if (const char* fault = fault_of(call, g)) return Declined{fault};
  return offer_part(
      make_transposed(g, call.in(0).dtype, tokens(call.in(1)), tokens(call.out(0)), call.attributes.scale), 1, 0);
}

namespace {

/// Workspace: f32 scores, probabilities in the operands' dtype, the library's.
struct Attention {
  Geometry g{};
  HeadsProduct scores, context;
  std::vector<std::shared_ptr<const Kernel>> softmax;
  std::int64_t at_once = 1;
  std::int64_t mask_bytes = 0;  ///< A row's.
  std::size_t scores_bytes = 0, p_bytes = 0;

  void run(const Memory& memory) const {
    std::byte* p = memory.workspace + scores_bytes;
    std::byte* behind = p + p_bytes;
    for (std::int64_t first = 0; first < g.batches; first += at_once) {
      const std::int64_t rows = std::min(at_once, g.batches - first);
      const std::byte* mask = memory.in<std::byte>(3);
      scores.run({memory.in<std::byte>(1) + first * scores.a.batch, memory.in<std::byte>(0) + first * scores.b.batch,
                  memory.workspace, nullptr, nullptr, behind},
                 rows);
      run_kernel(*softmax[static_cast<std::size_t>(rows)],
                 {memory.workspace, mask == nullptr ? nullptr : mask + first * mask_bytes}, p);
      context.run({memory.in<std::byte>(2) + first * context.a.batch, p,
                   memory.out<std::byte>(0) + first * context.c.batch, nullptr, nullptr, behind},
                  rows);
    }
  }
};

}  // namespace

Offer prepare_library_attention(const Call& call, const MachineFacts&) {
  const Argument& q = call.in(0);
  const Geometry g = geometry_of(call, q.shape[0], q.shape[1]);
  if (const char* fault = fault_of(call, g)) return Declined{fault};
  Attention attention;
  attention.g = g;
  const Made scores = make_scores(g, tokens(q), tokens(call.in(1)), DType::f32, call.attributes.scale);
  const Made context = make_context(g, q.dtype, tokens(call.in(2)), tokens(call.out(0)), 1);
  for (const Made* made : {&scores, &context}) {
    if (const auto* declined = std::get_if<Declined>(made)) return *declined;
  }
  attention.scores = std::get<HeadsProduct>(scores);
  attention.context = std::get<HeadsProduct>(context);
  attention.at_once = rows_at_once(g, 4 + static_cast<std::int64_t>(size_of(q.dtype)));
  attention.mask_bytes = call.in(3).present ? call.in(3).row_stride : 0;
  attention.softmax = for_each_count(attention.at_once, g.batches, [&](std::int64_t rows) {
    return prepare_softmax_of(call, g, q.dtype, call.in(3), rows);
  });
  attention.scores_bytes = score_bytes(g, attention.at_once, DType::f32);
  attention.p_bytes = score_bytes(g, attention.at_once, q.dtype);
  Prepared prepared = offer_heads(attention.scores);
  prepared.description = "stored f32 scores; " + prepared.description;
  prepared.workspace_bytes = attention.scores_bytes + attention.p_bytes +
                             std::max(attention.scores.workspace_bytes(), attention.context.workspace_bytes());
  prepared.kernel = make_kernel([attention](const Memory& memory) { attention.run(memory); });
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
