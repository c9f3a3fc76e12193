#include "kernels/cuda/host/stored_scores.h"

// The gradient of attention by the library's batched products: its probabilities are computed again.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// ds from dp and p, which is f32: what is left of dp - sum(p dp) where a probability is nearly 1 would drown in the
/// rounding of p.
Offer prepare_gradient_of_softmax(const Geometry& g, DType ds, std::int64_t rows) {
  const Argument wide = score_argument(g, DType::f32, rows);
  return prepare_softmax_gradient({&op::softmax_gradient, {}, {wide, wide}, {score_argument(g, ds, rows)}, 1}, {});
}

/// p in the operands' dtype.
Offer prepare_rounding(const Geometry& g, DType p, std::int64_t rows) {
  return prepare_cast({&op::cast, {}, {score_argument(g, DType::f32, rows)}, {score_argument(g, p, rows)}, 1}, {});
}

/// Workspace: f32 scores, then probabilities; their f32 gradient; probabilities, then the scores' gradient in the
/// operands' dtype; the library's.
struct AttentionGradient {
  Geometry g{};
  HeadsProduct scores, dp, dq, dk, dv;
  std::vector<std::shared_ptr<const Kernel>> softmax, rounding, gradient;
  std::int64_t at_once = 1;
  std::int64_t mask_bytes = 0;
  std::size_t scores_bytes = 0, operand_bytes = 0;

  void run(const Memory& memory) const {
    for (std::int64_t first = 0; first < g.batches; first += at_once)
      run_rows(memory, first, std::min(at_once, g.batches - first));
  }

  void run_rows(const Memory& memory, std::int64_t first, std::int64_t rows) const {
    std::byte* p = memory.workspace;
    std::byte* wide = p + scores_bytes;
    std::byte* operand = wide + scores_bytes;
    std::byte* behind = operand + operand_bytes;
    const std::byte* dy = memory.in<std::byte>(0) + first * dp.b.batch;
    const std::byte* q = memory.in<std::byte>(1) + first * scores.b.batch;
    const std::byte* k = memory.in<std::byte>(2) + first * scores.a.batch;
    const std::byte* v = memory.in<std::byte>(3) + first * dp.a.batch;
    const std::byte* mask = memory.in<std::byte>(4);
    const auto count = static_cast<std::size_t>(rows);
    scores.run({k, q, wide, nullptr, nullptr, behind}, rows);
    run_kernel(*softmax[count], {wide, mask == nullptr ? nullptr : mask + first * mask_bytes}, p);
    run_kernel(*rounding[count], {p}, operand);
    dv.run({dy, operand, memory.out<std::byte>(2) + first * dv.c.batch, nullptr, nullptr, behind}, rows);
    dp.run({v, dy, wide, nullptr, nullptr, behind}, rows);
    run_kernel(*gradient[count], {wide, p}, operand);
    dq.run({k, operand, memory.out<std::byte>(0) + first * dq.c.batch, nullptr, nullptr, behind}, rows);
    dk.run({q, operand, memory.out<std::byte>(1) + first * dk.c.batch, nullptr, nullptr, behind}, rows);
  }

  std::size_t library_bytes() const {
    return std::max({scores.workspace_bytes(), dp.workspace_bytes(), dq.workspace_bytes(), dk.workspace_bytes(),
                     dv.workspace_bytes()});
  }
};

}  // namespace

Offer prepare_library_attention_gradient(const Call& call, const MachineFacts&) {
  const Argument& dy = call.in(0);
  const Argument& q = call.in(1);
  const Argument& k = call.in(2);
  const Argument& v = call.in(3);
  const Geometry g = geometry_of(call, q.shape[0], q.shape[1]);
  if (const char* fault = fault_of(call, g)) return Declined{fault};
  if (call.attributes.cap > 0) return Declined{"the slopes of a soft cap need scores that it writes over"};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!call.out(i).present) return Declined{"not all three gradients are wanted"};
    if (call.out(i).dtype != call.out(0).dtype) return Declined{"the gradients' dtypes differ"};
  }
  const double scale = call.attributes.scale;
  const Made made[] = {make_scores(g, tokens(q), tokens(k), DType::f32, scale),
                       make_scores(g, tokens(dy), tokens(v), DType::f32, 1),
                       make_context(g, q.dtype, tokens(k), tokens(call.out(0)), scale),
                       make_transposed(g, q.dtype, tokens(q), tokens(call.out(1)), scale),
                       make_transposed(g, q.dtype, tokens(dy), tokens(call.out(2)), 1)};
  for (const Made& one : made) {
    if (const auto* declined = std::get_if<Declined>(&one)) return *declined;
  }
  AttentionGradient work;
  work.g = g;
  HeadsProduct* parts[] = {&work.scores, &work.dp, &work.dq, &work.dk, &work.dv};
  for (std::size_t i = 0; i < std::size(parts); ++i) *parts[i] = std::get<HeadsProduct>(made[i]);
  work.at_once = rows_at_once(g, 8 + static_cast<std::int64_t>(size_of(q.dtype)));
  work.mask_bytes = call.in(4).present ? call.in(4).row_stride : 0;
  work.softmax = for_each_count(work.at_once, g.batches, [&](std::int64_t rows) {
    return prepare_softmax_of(call, g, DType::f32, call.in(4), rows);
  });
  work.rounding =
      for_each_count(work.at_once, g.batches, [&](std::int64_t rows) { return prepare_rounding(g, q.dtype, rows); });
  work.gradient = for_each_count(work.at_once, g.batches,
                                 [&](std::int64_t rows) { return prepare_gradient_of_softmax(g, q.dtype, rows); });
  work.scores_bytes = score_bytes(g, work.at_once, DType::f32);
  work.operand_bytes = score_bytes(g, work.at_once, q.dtype);
  Prepared prepared = offer_heads(work.scores);
  prepared.description = "stored f32 scores; " + prepared.description;
  prepared.workspace_bytes = 2 * work.scores_bytes + work.operand_bytes + work.library_bytes();
  prepared.kernel = make_kernel([work](const Memory& memory) { work.run(memory); });
  return prepared;
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
