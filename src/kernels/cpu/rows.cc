#include "kernels/cpu/rows.h"

#include "kernels/cpu/targets.h"
// after the targets
#include <hwy/highway.h>

#include <mutex>

#include "base/error.h"

namespace assay::cpu {

SourceRows source_rows(const Call& call, const Memory& memory, std::size_t index) {
  const Argument& argument = call.in(index);
  return {memory.in<std::byte>(index), argument.dtype,
          argument.row_stride * static_cast<std::int64_t>(size_of(argument.dtype))};
}

SinkRows sink_rows(const Call& call, const Memory& memory, std::size_t index) {
  const Argument& argument = call.out(index);
  return {.data = memory.out<std::byte>(index),
          .dtype = argument.dtype,
          .stride_bytes = argument.row_stride * static_cast<std::int64_t>(size_of(argument.dtype)),
          .factor = sink_factor(call.attributes.output_scale)};
}

bool is_vector_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

bool is_vector_output(DType dtype, double output_scale) {
  return is_vector_float(dtype) || (dtype == DType::s8 && output_scale != 0);
}

float sink_factor(double output_scale) {
  return output_scale == 0 ? 1.0F : static_cast<float>(1 / output_scale);
}

const char* unfit_for_vectors(const Call& call) {
  if (size_of(call.attributes.math) != 4) return "vector code computes in f32";
  for (const Argument& input : call.inputs) {
    if (!input.present) continue;
    const bool mask_or_ids = input.dtype == DType::u8 || input.dtype == DType::s32;
    if (!is_vector_float(input.dtype) && !mask_or_ids) return "an input is neither f32 nor f16 nor bf16";
    if (input.packing.kind != Packing::Kind::plain) return "an input is packed";
  }
  for (const Argument& output : call.outputs) {
    if (output.present && !is_vector_output(output.dtype, call.attributes.output_scale))
      return "an output is neither f32 nor f16 nor bf16, nor s8 with a scale";
  }
  return nullptr;
}

const char* choose_vector_target(const MachineFacts& facts) {
#if defined(HWY_AVX2) && HWY_ARCH_X86
  // Better targets have lower bits.
  const std::int64_t above_avx2 = HWY_AVX2 - 1;
  const std::int64_t refused = (facts.isa.avx512 ? 0 : above_avx2) | (facts.isa.avx2 ? 0 : above_avx2 | HWY_AVX2);
  // Asking for the targets makes the best of them the choice for a moment: never while another thread takes its
  // kernels.
  static std::mutex guard;
  static std::int64_t refused_before = -1;
  static std::int64_t targets = 0;
  const std::scoped_lock lock(guard);
  if (refused != refused_before) {
    hwy::DisableTargets(refused);
    targets = hwy::SupportedTargets();
    hwy::GetChosenTarget().Update(targets);
    refused_before = refused;
  }
  if ((targets & above_avx2) != 0) return "avx512";
  return (targets & HWY_AVX2) != 0 ? "avx2" : "baseline";
#else
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  return "baseline";
#endif
}

RowWork first_input_rows(const Call& call) {
  return {call.in(0).rows(), call.in(0).width(), 0};
}

RowWork with_scratch_row(const Call& call) {
  RowWork work = first_input_rows(call);
  work.scratch = whole_lines(work.elements);
  return work;
}

const char* unfit_for_copying(const Call& call) {
  const DType target = call.out(0).dtype;
  for (const Argument& input : call.inputs) {
    if (!input.present) continue;
    if (input.packing.kind != Packing::Kind::plain) return "an input is packed";
    const bool floats = is_vector_float(input.dtype) && is_vector_output(target, call.attributes.output_scale);
    if (input.dtype != target && !floats) return "dtypes differ and are not both among f32, f16 and bf16";
  }
  return nullptr;
}

Prepared moving(const Call& call, Prepared prepared) {
  prepared.operand = prepared.accumulator = call.in(0).dtype;
  prepared.description = fmt::format("{} copies", prepared.evidence);
  return prepared;
}

Offer row_offer(const Call& call, const MachineFacts& facts, const RowWork& work, RowKernel (*choose)()) {
  if (const char* why = unfit_for_vectors(call)) return Declined{why};
  return row_prepared(call, facts, work, choose);
}

namespace {

void run_parts(const Call& call, const RowWork& work, RowKernel rows, const Memory& memory) {
  auto* scratch = reinterpret_cast<float*>(memory.workspace);
  for_parts(work.rows, work.elements, call.threads, [&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    rows(call, memory, begin, end, scratch + part * work.scratch);
  });
}

std::int64_t scratch_floats(const Call& call, const RowWork& work) {
  return work.scratch * std::max(call.threads, 1);
}

}  // namespace

Prepared row_prepared(const Call& call, const MachineFacts& facts, const RowWork& work, RowKernel (*choose)()) {
  const char* target = choose_vector_target(facts);
  const RowKernel rows = choose();
  const auto run = [call, work, rows](const Memory& memory) { run_parts(call, work, rows, memory); };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(scratch_floats(call, work)) * sizeof(float);
  return prepared;
}

Prepared summing_prepared(const Call& call, const MachineFacts& facts, const RowWork& work, SummingKernel (*choose)()) {
  const char* target = choose_vector_target(facts);
  const SummingKernel kernel = choose();
  const auto run = [call, work, kernel](const Memory& memory) {
    auto* scratch = reinterpret_cast<float*>(memory.workspace);
    std::fill_n(scratch, scratch_floats(call, work), 0.0F);
    run_parts(call, work, kernel.sum, memory);
    kernel.finish(call, memory, 0, std::max(call.threads, 1), scratch);
  };
  Prepared prepared = vector_kernel(make_kernel(run), target);
  prepared.workspace_bytes = static_cast<std::size_t>(scratch_floats(call, work)) * sizeof(float);
  return prepared;
}

double sum_of_doubles(const float* sums, std::int64_t parts) {
  double sum = 0;
  for (std::int64_t part = 0; part < parts; ++part)
    sum += *reinterpret_cast<const double*>(sums + part * floats_of_a_double);
  return sum;
}

Prepared vector_kernel(std::unique_ptr<Kernel> kernel, const char* target) {
  Prepared prepared;
  prepared.kernel = std::move(kernel);
  prepared.description = fmt::format("{} f32 vectors", target);
  prepared.operand = DType::f32;
  prepared.accumulator = DType::f32;
  prepared.verdict = Verdict::native;
  prepared.evidence = target;
  return prepared;
}

}  // namespace assay::cpu
