#include "base/error.h"
#include "kernels/cuda/library_linear.h"

// Linear layers with s8 weights, multiplied as s8 or widened.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Workspace: the s32 sums, the library's.
struct WholeLinear {
  LinearCall call;
  std::shared_ptr<const Product> product;
  WholeParts parts;
  std::size_t sums_bytes = 0;

  void run(const Memory& memory) const {
    const LinearMemory at = linear_memory(call, memory);
    std::byte* sums = memory.workspace;
    product->run({at.weight, at.x, sums, nullptr, nullptr, sums + sums_bytes});
    if (parts.by_library < call.out) sum_rest(rest_of(at, sums));
    Finish work = finish_in_place(call, at);
    work.sums = sums;
    work.sums_dtype = DType::s32;
    work.sums_stride = parts.sums_stride;
    work.x_scale = at.x_scale;
    work.w_scale = at.w_scale;
    finish(work);
  }

  WholeRest rest_of(const LinearMemory& at, std::byte* sums) const {
    return {.x = at.x,
            .w = at.weight,
            .sums = sums,
            .rows = call.rows,
            .in = call.in,
            .x_stride = call.x_stride,
            .sums_stride = parts.sums_stride,
            .first = parts.by_library,
            .out = call.out};
  }
};

/// s8 products summed in s32 in the workspace, then scaled.
Offer prepare_whole(const LinearCall& linear) {
  const WholeParts parts = whole_parts(linear.out);
  if (linear.in % 4 != 0 || linear.x_stride % 4 != 0) return Declined{"cuBLASLt multiplies s8 rows in fours only"};
  if (parts.by_library == 0) return Declined{"cuBLASLt makes s8 products in fours only"};
  ProductShape shape = shape_of(linear, DType::s8);
  shape.a.columns = parts.by_library;
  shape.c = {DType::s32, parts.by_library, linear.rows, parts.sums_stride};
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto sums = static_cast<std::size_t>(linear.rows * parts.sums_stride);
  const WholeLinear whole{linear, std::get<std::shared_ptr<const Product>>(made), parts,
                          aligned(sums * sizeof(std::int32_t))};
  Prepared prepared = offer_library(*whole.product, DType::s8, whole.sums_bytes + whole.product->workspace_bytes());
  if (parts.by_library < linear.out)
    prepared.description += fmt::format("; {} outputs by a kernel of ours", linear.out - parts.by_library);
  prepared.kernel = make_kernel([whole](const Memory& memory) { whole.run(memory); });
  return prepared;
}

/// s8 weights widened to x's dtype in the workspace at every run.
Offer prepare_widened(const LinearCall& linear) {
  if (!is_storable(linear.x, linear.y)) return Declined{"y is neither f32 nor of x's dtype"};
  auto made = Product::make(shape_of(linear, linear.x));
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto product = std::get<std::shared_ptr<const Product>>(made);
  const std::size_t weight_bytes = aligned(static_cast<std::size_t>(linear.in * linear.out) * size_of(linear.x));
  Prepared prepared = offer_library(*product, linear.x, weight_bytes + product->workspace_bytes());
  prepared.description += "; s8 weights widened at every run";
  prepared.kernel = make_kernel([linear, product, weight_bytes](const Memory& memory) {
    const LinearMemory at = linear_memory(linear, memory);
    widen({at.weight, at.w_scale, memory.workspace, linear.x, linear.out, linear.in});
    product->run({memory.workspace, at.x, at.y, nullptr, nullptr, memory.workspace + weight_bytes});
    finish(finish_in_place(linear, at));
  });
  return prepared;
}

}  // namespace

Offer prepare_library_quantized_linear(const Call& call, const MachineFacts&) {
  const LinearCall linear = quantized_linear_call(call);
  if (linear.rows == 0) return Declined{"there are no rows"};
  return linear.has_x_scale ? prepare_whole(linear) : prepare_widened(linear);
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
