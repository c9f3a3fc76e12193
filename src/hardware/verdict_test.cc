#include "hardware/verdict.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

struct Row {
  const char* machine;
  MatmulEvidence found;
  Verdict verdict;
  const char* evidence;  // Words that must stand in the sentence.
};

MatmulEvidence of(DType operand, const char* set, double instruction_gflops) {
  MatmulEvidence found;
  found.operand = operand;
  found.set = set;
  found.instruction_gflops = instruction_gflops;
  return found;
}

MatmulEvidence ran(MatmulEvidence found, DType computed, double gflops, double fp32_gflops) {
  found.computed = computed;
  found.matmul_gflops = gflops;
  if (computed == found.operand) found.native_gflops = gflops;
  found.fp32_gflops = fp32_gflops;
  found.kernel = "a kernel";
  return found;
}

MatmulEvidence with_native(MatmulEvidence found, double native_gflops) {
  found.native_gflops = native_gflops;
  return found;
}

MatmulEvidence capped(MatmulEvidence found, const char* cap) {
  found.cap = cap;
  return found;
}

// The figures of the AMX machine and of its sibling are those of DESIGN's facts.
const Row rows[] = {
    {"AMX", ran(of(DType::f32, "avx512", 440), DType::f32, 350, 350), Verdict::native, "the reference"},
    {"AMX", ran(of(DType::bf16, "amx_bf16", 6000), DType::bf16, 2450, 350), Verdict::native, "7.00x fp32"},
    {"AMX", ran(of(DType::s8, "amx_int8", 12400), DType::s8, 5600, 350), Verdict::native, "16.00x fp32"},
    {"AMX", ran(of(DType::f16, "avx512_fp16", 882), DType::f16, 340, 350), Verdict::native, "0.97x fp32"},
    {"no AMX", with_native(ran(of(DType::bf16, "avx512_bf16", 220), DType::f32, 400, 420), 200), Verdict::widened,
     "(0.52x fp32's matmul), its matmul runs at 0.48x fp32; computed in f32 at 0.95x fp32"},
    {"no AMX", ran(of(DType::bf16, "avx512_bf16", 220), DType::bf16, 200, 420), Verdict::slow, "0.48x fp32"},
    {"no kernel of ours", ran(of(DType::f16, "avx512_fp16", 882), DType::f32, 400, 420), Verdict::widened,
     "no matmul of ours uses it"},
    {"Zen 4", ran(of(DType::bf16, "avx512_bf16", 440), DType::bf16, 380, 200), Verdict::native, "1.90x fp32"},
    {"Zen 4", ran(of(DType::f16, "", 0), DType::f32, 195, 200), Verdict::emulated,
     "no f16 product instruction on this processor; its matmul runs in f32 at 195 GFLOP/s"},
    {"Zen 4", ran(of(DType::s8, "avx512_vnni", 880), DType::s8, 600, 200), Verdict::native, "3.00x fp32"},
    {"AVX2", ran(of(DType::bf16, "", 0), DType::f32, 90, 95), Verdict::emulated, "on this processor"},
    {"AVX2", of(DType::s8, "", 0), Verdict::unsupported, "no kernel multiplies s8"},
    {"capped", capped(ran(of(DType::bf16, "", 0), DType::f32, 90, 95), "avx2"), Verdict::emulated,
     "under the cap 'avx2'"},
    {"at the bound", ran(of(DType::f16, "avx512_fp16", 800), DType::f16, 90, 100), Verdict::native, "0.90x fp32"},
    {"under the bound", ran(of(DType::f16, "avx512_fp16", 800), DType::f16, 89, 100), Verdict::slow, "0.89x fp32"},
};

TEST(Verdict, FollowsTheEvidence) {
  for (const Row& row : rows) {
    const Judgement judgement = judge(row.found);
    EXPECT_EQ(judgement.verdict, row.verdict) << row.machine << " " << name(row.found.operand);
    EXPECT_NE(judgement.evidence.find(row.evidence), std::string::npos) << row.machine << ": " << judgement.evidence;
    EXPECT_EQ(judgement.evidence.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace assay
