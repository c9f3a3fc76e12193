#include "experiments/probe.h"

#include <algorithm>

#include "base/threads.h"
#include "experiments/probe_cache.h"
#include "hardware/bandwidth.h"
#include "hardware/peaks.h"
#include "hardware/verdict.h"

namespace assay {
namespace {

/// The best matmul with these operands; null if there is none.
const MatmulRate* best_of(const std::vector<MatmulRate>& rates, DType operand) {
  const MatmulRate* best = nullptr;
  for (const MatmulRate& rate : rates) {
    if (rate.operand == operand && (!best || rate.gflops > best->gflops)) best = &rate;
  }
  return best;
}

std::vector<MatmulRate> only_native(std::vector<MatmulRate> rates) {
  std::erase_if(rates, [](const MatmulRate& rate) { return rate.computed != rate.operand; });
  return rates;
}

MatmulEvidence gather(const InstructionPeak& peak, const std::vector<MatmulRate>& rates, const std::string& cap) {
  MatmulEvidence found{.operand = peak.operand, .set = peak.set, .kernel = {}, .cap = cap};
  const std::vector<MatmulRate> native = only_native(rates);
  if (const MatmulRate* best = best_of(native, peak.operand)) found.native_gflops = best->gflops;
  // No matmul outruns its instruction: where it seems to, the loop was disturbed and the matmul is the better witness.
  if (!peak.set.empty()) found.instruction_gflops = std::max(peak.gflops, found.native_gflops);
  if (const MatmulRate* best = best_of(rates, DType::f32)) found.fp32_gflops = best->gflops;
  if (const MatmulRate* best = best_of(rates, peak.operand)) {
    found.matmul_gflops = best->gflops;
    found.computed = best->computed;
    found.kernel = best->kernel;
  }
  return found;
}

MatmulPeak peak_from(const InstructionPeak& instruction, const MatmulEvidence& found) {
  const Judgement judgement = judge(found);
  MatmulPeak peak;
  peak.operand = found.operand;
  peak.instruction_gflops = found.instruction_gflops;
  peak.matmul_gflops = found.matmul_gflops;
  peak.kernel = found.kernel;
  peak.verdict = judgement.verdict;
  peak.evidence = judgement.evidence;
  peak.instruction = instruction.instruction;
  return peak;
}

}  // namespace

void measure_facts(MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  set_threads(facts.threads);
  const Bandwidth bandwidth = measure_read_bandwidth(facts);
  facts.bandwidth_one_core_gbs = bandwidth.one_core_gbs;
  facts.bandwidth_gbs = bandwidth.all_cores_gbs;
  const std::vector<InstructionPeak> instructions = measure_instruction_peaks(facts.isa, facts.threads);
  const MatmulRates matmuls = measure_matmuls(facts, shape, seconds_each);
  facts.measured_share = matmuls.processor_share;
  facts.peaks.clear();
  for (const InstructionPeak& instruction : instructions) {
    facts.peaks.push_back(peak_from(instruction, gather(instruction, matmuls.rates, facts.cap)));
  }
}

MachineFacts probe(const ProbeOptions& options) {
  MachineFacts facts = read_machine_facts(options.machine);
  if (options.cache == ProbeCache::use && load_measurements(facts)) return facts;
  measure_facts(facts, options.shape, options.seconds_each);
  if (options.cache != ProbeCache::none) store_measurements(facts);
  return facts;
}

}  // namespace assay
