#include "studies/probe/run.h"

#include <algorithm>
#include <set>

#include "base/threads.h"
#include "hardware/bandwidth.h"
#include "hardware/peaks.h"
#include "kernels/verdict.h"
#include "studies/probe/cache.h"

namespace assay {
namespace {

/// Of that operand dtype, in the order of choice; an implementation that was timed in two packings counts once.
std::vector<MatmulRate> rates_of_operand(DType operand, const MachineFacts& facts, std::vector<MatmulRate> rates) {
  std::erase_if(rates, [&](const MatmulRate& rate) { return rate.operand != operand; });
  std::stable_sort(rates.begin(), rates.end(),
                   [](const MatmulRate& a, const MatmulRate& b) { return a.gflops > b.gflops; });
  std::set<KernelKey> seen;
  std::erase_if(rates, [&](const MatmulRate& rate) { return !seen.insert(rate.key).second; });
  return in_order_of_choice(cpu_backend(), facts, rates);
}

MatmulPeak peak_from(const InstructionPeak& instruction, const MachineFacts& facts,
                     const std::vector<MatmulRate>& all) {
  MatmulPeak peak;
  peak.operand = instruction.operand;
  peak.instruction = instruction.instruction;
  peak.rates = rates_of_operand(instruction.operand, facts, all);
  if (!instruction.set.empty()) peak.instruction_gflops = instruction.gflops;
  for (const MatmulRate& rate : peak.rates) {
    // No matmul outruns its instruction: where it seems to, the loop was disturbed and the matmul is the better
    // witness.
    const bool uses_it = !instruction.set.empty() && rate.computed == peak.operand;
    if (uses_it) peak.instruction_gflops = std::max(peak.instruction_gflops, rate.gflops);
  }
  if (peak.rates.empty()) return peak;
  peak.set_best();
  return peak;
}

}  // namespace

void measure_facts(MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  set_threads(facts.threads);
  const Bandwidth bandwidth = measure_read_bandwidth(facts);
  facts.bandwidth_one_core_gbs = bandwidth.one_core_gbs;
  facts.bandwidth_gbs = bandwidth.all_cores_gbs;
  measure_peaks(facts, shape, seconds_each);
}

void measure_peaks(MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  set_threads(facts.threads);
  const std::vector<InstructionPeak> instructions = measure_instruction_peaks(facts.isa, facts.threads);
  const MatmulRates matmuls = measure_matmuls(facts, shape, seconds_each);
  facts.measured_share = matmuls.processor_share;
  facts.peaks.clear();
  for (const InstructionPeak& instruction : instructions) {
    facts.peaks.push_back(peak_from(instruction, facts, matmuls.rates));
  }
  set_verdicts(facts);
}

MachineFacts probe(const ProbeOptions& options) {
  MachineFacts facts = read_machine_facts(options.machine);
  if (options.cache == ProbeCache::use && load_measurements(facts)) return facts;
  measure_facts(facts, options.shape, options.seconds_each);
  if (options.cache != ProbeCache::none) store_measurements(facts);
  return facts;
}

}  // namespace assay
