#include "kernels/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

KernelKey kernel_key(DType operand, const char* implementation) {
  return {operand == DType::s8 ? "quantized_linear" : "linear", implementation};
}

MatmulRate rate(DType operand, DType computed, const char* implementation, double gflops) {
  return {operand,
          computed,
          kernel_key(operand, implementation),
          std::string(implementation) + ", panels",
          Arithmetic::instructions,
          gflops};
}

/// A machine of which was measured what these rates say; of each operand the fastest comes first.
MachineFacts machine(const InstructionSets& isa, const std::vector<MatmulRate>& rates) {
  MachineFacts facts;
  facts.isa = isa;
  facts.measured_share = 1;
  for (const MatmulRate& one : rates) {
    auto peak = std::find_if(facts.peaks.begin(), facts.peaks.end(),
                             [&](const MatmulPeak& known) { return known.operand == one.operand; });
    if (peak == facts.peaks.end()) {
      peak = facts.peaks.insert(facts.peaks.end(), MatmulPeak{});
      peak->operand = one.operand;
      peak->matmul_gflops = one.gflops;
    }
    peak->rates.push_back(one);
  }
  return facts;
}

constexpr InstructionSets amx = {.avx2 = true,
                                 .avx512 = true,
                                 .avx512_vnni = true,
                                 .avx512_bf16 = true,
                                 .avx512_fp16 = true,
                                 .amx_tile = true,
                                 .amx_bf16 = true,
                                 .amx_int8 = true};
constexpr InstructionSets zen4 = {.avx2 = true, .avx512 = true, .avx512_vnni = true, .avx512_bf16 = true};
constexpr InstructionSets avx2 = {.avx2 = true};
constexpr DType f32 = DType::f32;
constexpr DType f16 = DType::f16;
constexpr DType bf16 = DType::bf16;
constexpr DType s8 = DType::s8;

struct Row {
  const char* machine;
  MachineFacts facts;
  DType operand;
  Verdict verdict;
  const char* evidence;  // Words that must stand in the sentence.
};

// The figures of the AMX machine and of its sibling without are measured ones.
TEST(Verdict, FollowsTheEvidence) {
  const MatmulRate fp32 = rate(f32, f32, "f32", 350);
  const Row rows[] = {
      {"AMX", machine(amx, {fp32}), f32, Verdict::native, "avx512; matmul measured at 350 GFLOP/s, 1.00x fp32"},
      {"AMX", machine(amx, {fp32, rate(bf16, bf16, "tiles", 2450)}), bf16, Verdict::native, "7.00x fp32"},
      {"AMX", machine(amx, {fp32, rate(s8, s8, "tiles", 5600)}), s8, Verdict::native, "16.00x fp32"},
      {"AMX", machine(amx, {fp32, rate(f16, f32, "f32 from 16-bit storage", 340)}), f16, Verdict::widened,
       "avx512_fp16: no matmul of ours uses it; computed in f32"},
      {"no AMX", machine(zen4, {fp32, rate(bf16, f32, "wide", 330), rate(bf16, bf16, "dot", 168)}), bf16,
       Verdict::widened, "its matmul was measured at 168 GFLOP/s, 0.48x fp32; computed in f32: matmul measured at 330"},
      {"slow", machine(zen4, {fp32, rate(bf16, bf16, "dot", 168), rate(bf16, f32, "wide", 100)}), bf16, Verdict::slow,
       "0.48x fp32"},
      {"Zen 4", machine(zen4, {fp32, rate(f16, f32, "wide", 340)}), f16, Verdict::emulated,
       "no f16 product instruction on this processor; computed in f32: matmul measured at 340"},
      {"AVX2", machine(avx2, {fp32, rate(s8, s8, "pairs", 420)}), s8, Verdict::native, "avx2; matmul measured at 420"},
      {"AVX2", machine(avx2, {fp32, rate(s8, s8, "pairs", 100)}), s8, Verdict::slow, "0.29x fp32"},
      {"SSE", machine({}, {fp32, rate(s8, s8, "pairs", 100)}), s8, Verdict::emulated, "computed in other instructions"},
      {"AVX2", machine(avx2, {fp32}), s8, Verdict::unsupported, "no kernel multiplies s8"},
      {"at the bound", machine(zen4, {fp32, rate(bf16, bf16, "dot", 315)}), bf16, Verdict::native, "0.90x"},
      {"under it", machine(zen4, {fp32, rate(bf16, bf16, "dot", 311)}), bf16, Verdict::slow, "0.89x"},
  };
  for (const Row& row : rows) {
    const ProductVerdict judgement = verdict_of_dtype(row.operand, row.facts);
    EXPECT_EQ(judgement.verdict, row.verdict) << row.machine << " " << name(row.operand) << ": " << judgement.evidence;
    EXPECT_NE(judgement.evidence.find(row.evidence), std::string::npos) << row.machine << ": " << judgement.evidence;
  }
}

TEST(Verdict, ACapIsNamed) {
  MachineFacts facts = machine(avx2, {rate(f32, f32, "f32", 95), rate(bf16, f32, "wide", 90)});
  facts.cap = "avx2";
  EXPECT_NE(verdict_of_dtype(bf16, facts).evidence.find("under the cap 'avx2'"), std::string::npos);
}

TEST(Verdict, CitesTheKernelThatRanElseTheBestAndSaysSo) {
  const MachineFacts facts =
      machine(zen4, {rate(f32, f32, "f32", 200), rate(bf16, bf16, "onednn", 420), rate(bf16, bf16, "dot", 380)});
  const auto evidence = [&](const char* implementation) {
    return verdict_of({bf16, bf16, Arithmetic::instructions, {"linear", implementation}}, facts).evidence;
  };
  EXPECT_EQ(evidence("dot"), "avx512_bf16; matmul measured at 380 GFLOP/s, 1.90x fp32");
  EXPECT_EQ(evidence("attention"),
            "avx512_bf16; best matmul measured in this dtype: 420 GFLOP/s, 2.10x fp32 by onednn");
}

TEST(Verdict, SumsInF16AreHeldAgainstTheirInstruction) {
  MachineFacts facts = machine(zen4, {rate(f32, f32, "f32", 370), rate(f16, f16, "onednn", 330)});
  facts.isa.avx512_fp16 = true;
  facts.peaks[0].instruction_gflops = 430;
  for (MatmulPeak& peak : facts.peaks) {
    if (peak.operand == f16) peak.instruction_gflops = 860;
  }
  const ProductVerdict found = verdict_of({f16, f16, Arithmetic::instructions, {"linear", "chunks"}, f16}, facts);
  EXPECT_EQ(found.verdict, Verdict::native);
  EXPECT_EQ(found.evidence, "avx512_fp16; its instruction, adding in f16, measured at 860 GFLOP/s, 2.00x fp32's");
  EXPECT_EQ(verdict_of({f16, f16, Arithmetic::instructions, {"linear", "onednn"}, f32}, facts).verdict, Verdict::slow);
}

TEST(Verdict, WithoutAMeasurementTheInstructionSetDecides) {
  MachineFacts facts;
  facts.isa = zen4;
  EXPECT_EQ(verdict_of({bf16, bf16, Arithmetic::instructions, {"linear", "dot"}}, facts).verdict, Verdict::native);
  EXPECT_EQ(verdict_of({f16, f32, Arithmetic::instructions, {"linear", "wide"}}, facts).verdict, Verdict::emulated);
  EXPECT_TRUE(instruction_pays(bf16, facts));
  EXPECT_FALSE(instruction_pays(f16, facts));
}

TEST(Verdict, PlainLoopsAreSlowOrEmulatedNeverNative) {
  MachineFacts facts;
  facts.isa = zen4;
  const auto verdict = [&](DType asked, DType computed) {
    return verdict_of({asked, computed, Arithmetic::scalar_loops, {"linear", "reference loops"}}, facts).verdict;
  };
  EXPECT_EQ(verdict(f32, DType::f64), Verdict::slow);
  EXPECT_EQ(verdict(s8, s8), Verdict::slow);
  EXPECT_EQ(verdict(bf16, DType::f64), Verdict::emulated);
  facts.isa = avx2;
  EXPECT_EQ(verdict(s8, s8), Verdict::slow);
  facts.isa = {};
  EXPECT_EQ(verdict(s8, s8), Verdict::emulated) << "as probe says of a machine without products of bytes";
}

MachineFacts facts_of_gpu(ComputeCapability capability) {
  MachineFacts facts;
  facts.isa = zen4;  // of the host, which must not count
  facts.gpu = GpuFacts{.name = "a GPU", .capability = capability};
  return facts;
}

TEST(Verdict, OfAGpuItsComputeCapabilityDecides) {
  const auto verdict = [](ComputeCapability capability, DType dtype) {
    return verdict_of({dtype, dtype, Arithmetic::instructions, {"linear", "cublaslt"}}, facts_of_gpu(capability))
        .verdict;
  };
  EXPECT_EQ(verdict({7, 0}, bf16), Verdict::emulated) << "whatever a library claims on a V100";
  EXPECT_EQ(verdict({7, 5}, bf16), Verdict::emulated);
  EXPECT_EQ(verdict({8, 0}, bf16), Verdict::native);
  EXPECT_EQ(verdict({6, 1}, f16), Verdict::slow) << "a P40 multiplies f16 at 1/64 of the f32 rate";
  EXPECT_EQ(verdict({6, 0}, f16), Verdict::native);
  EXPECT_EQ(verdict({6, 0}, s8), Verdict::emulated);
  EXPECT_EQ(verdict({6, 1}, s8), Verdict::native);
  EXPECT_EQ(verdict({8, 6}, DType::e4m3), Verdict::emulated);
  EXPECT_EQ(verdict({9, 0}, DType::e4m3), Verdict::native);
  EXPECT_EQ(verdict({9, 0}, DType::tf32), Verdict::native);
}

TEST(Verdict, F32BesideTf32AsksForTf32) {
  const auto asked = [](const Operation& operation, DType left, DType right, DType rounded_to) {
    const auto argument = [](DType dtype) {
      return Argument{.present = true, .dtype = dtype, .shape = {}, .packing = {}};
    };
    return asked_operand({&operation, {.operand = rounded_to}, {argument(left), argument(right)}, {}, 1});
  };
  const DType tf32 = DType::tf32;
  EXPECT_EQ(asked(op::linear, tf32, f32, tf32), tf32) << "training: f32 weights rounded inside the product";
  EXPECT_EQ(asked(op::linear_input_gradient, f32, f32, tf32), tf32);
  EXPECT_EQ(asked(op::linear_weight_gradient, f32, tf32, f32), tf32);
  EXPECT_EQ(asked(op::attention_gradient, f32, tf32, f32), tf32);
  EXPECT_EQ(asked(op::linear, f32, f32, f32), f32) << "fp32 stays strict";
  EXPECT_EQ(asked(op::linear, bf16, f32, bf16), bf16);
}

TEST(Verdict, OnAGpuProductsWithoutTensorCoresAreSlow) {
  const MachineFacts facts = facts_of_gpu({9, 0});
  EXPECT_EQ(verdict_of({f32, f32, Arithmetic::scalar_loops, {"linear", "cuda, no tensor cores"}}, facts).verdict,
            Verdict::slow);
  EXPECT_EQ(verdict_of({bf16, f32, Arithmetic::scalar_loops, {"linear", "cuda, no tensor cores"}}, facts).verdict,
            Verdict::emulated);
}

}  // namespace
}  // namespace assay
