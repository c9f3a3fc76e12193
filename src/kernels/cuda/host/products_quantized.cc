#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/host/library_linear.h"

// Linear layers with operands of 8 bits, multiplied as they are.
namespace assay::ASSAY_CUDA_NAMESPACE {
namespace {

/// Workspace: the sums (s32 of s8, f32 of e4m3), the library's.
struct QuantizedLinear {
  LinearCall call;
  std::shared_ptr<const Product> product;
  SharedOutputs outputs;
  std::size_t sums_bytes = 0;

  void run(const Memory& memory) const {
    const LinearMemory at = linear_memory(call, memory);
    std::byte* sums = memory.workspace;
    product->run({at.weight, at.x, sums, nullptr, nullptr, sums + sums_bytes});
    if (outputs.by_library < call.out) sum_rest(rest_of(at, sums));
    Finish work = finish_in_place(call, at);
    work.sums = sums;
    work.sums_dtype = accumulator_of(call.x);
    work.sums_stride = outputs.sums_stride;
    work.x_scale = at.x_scale;
    work.w_scale = at.w_scale;
    finish(work);
  }

  RestOfSums rest_of(const LinearMemory& at, std::byte* sums) const {
    return {.operand = call.x,
            .x = at.x,
            .w = at.weight,
            .sums = sums,
            .rows = call.rows,
            .in = call.in,
            .x_stride = call.x_stride,
            .sums_stride = outputs.sums_stride,
            .first = outputs.by_library,
            .out = call.out};
  }
};

/// Why the library does not multiply such operands as they are; empty where it may.
std::string quantized_fault(const LinearCall& linear, const MachineFacts& facts) {
  if (facts.gpu && gpu_products(linear.x, facts.gpu->capability).instruction == nullptr)
    return fmt::format("no {} products at compute capability {}", name(linear.x), to_string(facts.gpu->capability));
  const std::int64_t step = size_step(linear.x);
  if (linear.in % step != 0 || linear.x_stride % step != 0)
    return fmt::format("cuBLASLt takes rows of {} in steps of {} only", name(linear.x), step);
  if (linear.out < step) return fmt::format("cuBLASLt makes {} products in steps of {} only", name(linear.x), step);
  if (linear.x_stride != linear.in) return fmt::format("a window of {} may lie at any address", name(linear.x));
  return "";
}

/// Products summed in the workspace, then scaled.
Offer prepare_quantized(const LinearCall& linear, const MachineFacts& facts) {
  if (const std::string fault = quantized_fault(linear, facts); !fault.empty()) return Declined{fault};
  const SharedOutputs outputs = shared_outputs(linear.out, size_step(linear.x));
  ProductShape shape = shape_of(linear, linear.x);
  shape.a.columns = outputs.by_library;
  shape.c = {accumulator_of(linear.x), outputs.by_library, linear.rows, outputs.sums_stride};
  shape.c.placed = Matrix::Placed::aligned;
  auto made = Product::make(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto sums = static_cast<std::size_t>(linear.rows * outputs.sums_stride);
  const QuantizedLinear quantized{linear, std::get<std::shared_ptr<const Product>>(made), outputs,
                                  aligned(sums * size_of(shape.c.dtype))};
  Prepared prepared = offer_library(*quantized.product, quantized.sums_bytes + quantized.product->workspace_bytes());
  if (outputs.by_library < linear.out)
    prepared.description += fmt::format("; {} outputs by a kernel of ours", linear.out - outputs.by_library);
  prepared.kernel = make_kernel([quantized](const Memory& memory) { quantized.run(memory); });
  return prepared;
}

}  // namespace

Offer prepare_library_quantized_linear(const Call& call, const MachineFacts& facts) {
  const LinearCall linear = quantized_linear_call(call);
  if (!linear.has_x_scale) return Declined{"activations are floats"};
  return linear.rows == 0 ? Declined{"there are no rows"} : prepare_quantized(linear, facts);
}

}  // namespace assay::ASSAY_CUDA_NAMESPACE
