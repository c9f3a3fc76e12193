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

MatmulPeak peak_from(const InstructionPeak& instruction, const MachineFacts& facts, const MatmulRates& all) {
  MatmulPeak peak;
  peak.operand = instruction.operand;
  peak.instruction = instruction.instruction;
  peak.rates = rates_of_operand(instruction.operand, facts, all.rates);
  peak.row_rates = rates_of_operand(instruction.operand, facts, all.row_rates);
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

// Readings that are kept: enough to see how far they differ, few enough to forget a machine that changed.
constexpr std::size_t enough_readings = 8;
constexpr std::size_t most_readings = 16;

/// One more, from a buffer of its own: other pages, other neighbours.
void read_bandwidth(MachineFacts& facts) {
  const Bandwidth bandwidth = measure_read_bandwidth(facts);
  facts.bandwidth_one_core_gbs = std::max(facts.bandwidth_one_core_gbs, bandwidth.one_core_gbs);
  facts.bandwidth_gbs = std::max(facts.bandwidth_gbs, bandwidth.all_cores_gbs);
  facts.bandwidth_readings_gbs.push_back(bandwidth.all_cores_gbs);
}

void keep_readings(const std::vector<double>& earlier, std::vector<double>& now) {
  now.insert(now.begin(), earlier.begin(), earlier.end());
  if (now.size() > most_readings) now.erase(now.begin(), now.end() - most_readings);
}

/// What earlier probes read of the same machine, before what this one did.
void keep_readings(const MachineFacts& earlier, MachineFacts& facts) {
  if (earlier.was_busy()) return;
  keep_readings(earlier.bandwidth_readings_gbs, facts.bandwidth_readings_gbs);
  for (MatmulPeak& peak : facts.peaks) {
    if (const MatmulPeak* known = earlier.peak(peak.operand); known != nullptr)
      keep_readings(known->instruction_readings_gflops, peak.instruction_readings_gflops);
  }
}

/// Processes differ more than readings within one: each of the next ones adds its own until there are enough.
void add_reading(MachineFacts& facts) {
  if (facts.was_busy() || facts.bandwidth_readings_gbs.size() >= enough_readings) return;
  set_threads(facts.threads);
  read_bandwidth(facts);
  store_measurements(facts);
}

}  // namespace

void measure_facts(MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  set_threads(facts.threads);
  facts.bandwidth_one_core_gbs = facts.bandwidth_gbs = 0;
  read_bandwidth(facts);
  measure_peaks(facts, shape, seconds_each);
  for (int again = 0; again < 2; ++again) read_bandwidth(facts);
}

void measure_peaks(MachineFacts& facts, const MatmulShape& shape, double seconds_each) {
  set_threads(facts.threads);
  const std::vector<InstructionPeak> before = measure_instruction_peaks(facts.isa, facts.threads);
  const MatmulRates matmuls = measure_matmuls(facts, shape, seconds_each);
  const std::vector<InstructionPeak> after = measure_instruction_peaks(facts.isa, facts.threads);
  facts.measured_share = matmuls.processor_share;
  facts.peaks.clear();
  for (std::size_t i = 0; i < before.size(); ++i) {
    const InstructionPeak& faster = before[i].gflops >= after[i].gflops ? before[i] : after[i];
    MatmulPeak& peak = facts.peaks.emplace_back(peak_from(faster, facts, matmuls));
    if (!faster.set.empty()) peak.instruction_readings_gflops = {before[i].gflops, after[i].gflops};
  }
  set_verdicts(facts);
}

MachineFacts probe(const ProbeOptions& options) {
  MachineFacts facts = read_machine_facts(options.machine);
  MachineFacts earlier = facts;
  const bool is_known = options.cache != ProbeCache::none && load_measurements(earlier);
  if (options.cache == ProbeCache::use && is_known) {
    add_reading(earlier);
    return earlier;
  }
  measure_facts(facts, options.shape, options.seconds_each);
  if (is_known) keep_readings(earlier, facts);
  if (options.cache != ProbeCache::none) store_measurements(facts);
  return facts;
}

}  // namespace assay
