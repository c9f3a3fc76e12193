#include <fmt/format.h>

#include "base/json.h"
#include "base/units.h"
#include "hardware/isa_cap.h"
#include "studies/probe.h"

namespace assay {
namespace {

constexpr std::size_t page_columns = 120;
constexpr std::size_t label_columns = 14;

/// A label and a text broken at blanks so that no line passes the page.
std::string labelled(const std::string& label, std::string text) {
  const std::size_t room = page_columns - label_columns;
  std::string lines = fmt::format("{:<{}}", label, label_columns);
  while (text.size() > room) {
    const std::size_t blank = text.rfind(' ', room);
    const std::size_t end = blank == std::string::npos || blank == 0 ? room : blank;
    lines += text.substr(0, end) + "\n" + std::string(label_columns, ' ');
    text.erase(0, text[end] == ' ' ? end + 1 : end);
  }
  return lines + text + "\n";
}

std::string cache_size(std::int64_t bytes) {
  return bytes >= 1 << 20 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

std::string caches_text(const MachineFacts& facts) {
  std::string text;
  for (const Cache& cache : facts.caches) {
    if (!text.empty()) text += ", ";
    text += fmt::format("L{} {}", cache.level, cache_size(cache.bytes));
    if (cache.shared_by_cores > 1) text += fmt::format(" shared by {}", cache.shared_by_cores);
  }
  return text.empty() ? "not told by this system" : text;
}

std::string memory_text(const MachineFacts& facts) {
  std::string text = fmt::format("{}, {} available", format_bytes(static_cast<double>(facts.memory_bytes)),
                                 format_bytes(static_cast<double>(facts.available_bytes)));
  if (facts.bandwidth_gbs <= 0) return text;
  if (facts.gpu) return text + fmt::format("; moves {:.0f} GB/s", facts.bandwidth_gbs);
  return text + fmt::format("; reads {:.1f} GB/s with one core, {:.1f} GB/s with {} threads",
                            facts.bandwidth_one_core_gbs, facts.bandwidth_gbs, facts.threads);
}

std::string instruction_peak_words(const MatmulPeak& peak) {
  if (peak.instruction.empty()) return "none";
  return peak.instruction_gflops > 0 ? fmt::format("{:.0f} GFLOP/s", peak.instruction_gflops) : "not measured";
}

std::string peaks_table(const MachineFacts& facts) {
  if (facts.peaks.empty()) return "peaks         not measured\n";
  std::string text = fmt::format("\n{:<8} {:>15}  {:<20} {:>15} {:>9}  {}\n", "operand", "instruction", "", "matmul",
                                 "vs fp32", "verdict");
  const MatmulPeak* fp32 = facts.peak(DType::f32);
  for (const MatmulPeak& peak : facts.peaks) {
    const bool comparable = fp32 && fp32->matmul_gflops > 0;
    text += fmt::format("{:<8} {:>15}  {:<20} {:>15} {:>9}  {}\n", name(peak.operand), instruction_peak_words(peak),
                        peak.instruction, fmt::format("{:.0f} GFLOP/s", peak.matmul_gflops),
                        comparable ? fmt::format("{:.2f}x", peak.matmul_gflops / fp32->matmul_gflops) : "-",
                        name(peak.verdict));
  }
  return text + "\n";
}

/// Empty where the machine was ours while the peaks were measured.
std::string busy_warning(const MachineFacts& facts) {
  if (facts.peaks.empty() || !facts.was_busy()) return {};
  return labelled(
      "busy", fmt::format("others had much of the processors: measuring got {:.0f} % of the time it asked for, so the "
                          "figures may be too low; they are kept for ten minutes only",
                          100 * facts.measured_share));
}

OrderedJson caches_json(const MachineFacts& facts) {
  OrderedJson caches = OrderedJson::array();
  for (const Cache& cache : facts.caches) {
    caches.push_back({{"level", cache.level},
                      {"bytes", cache.bytes},
                      {"shared_by_cores", cache.shared_by_cores},
                      {"instances", cache.instances}});
  }
  return caches;
}

OrderedJson rates_json(const MatmulPeak& peak) {
  OrderedJson rates = OrderedJson::array();
  for (const MatmulRate& rate : peak.rates) {
    rates.push_back({{"implementation", rate.implementation},
                     {"kernel", rate.kernel},
                     {"computed", name(rate.computed)},
                     {"plain_loops", rate.arithmetic == Arithmetic::scalar_loops},
                     {"gflops", rate.gflops},
                     {"streaming_gflops", rate.streaming_gflops}});
  }
  return rates;
}

OrderedJson peaks_json(const MachineFacts& facts) {
  OrderedJson peaks = OrderedJson::array();
  for (const MatmulPeak& peak : facts.peaks) {
    peaks.push_back({{"operand", name(peak.operand)},
                     {"instruction", peak.instruction.empty() ? OrderedJson() : OrderedJson(peak.instruction)},
                     {"instruction_gflops", peak.instruction_gflops},
                     {"matmul_gflops", peak.matmul_gflops},
                     {"kernel", peak.kernel},
                     {"verdict", name(peak.verdict)},
                     {"evidence", peak.evidence},
                     {"rates", rates_json(peak)}});
  }
  return peaks;
}

OrderedJson power_json(const MachineFacts& facts) {
  OrderedJson sources = OrderedJson::array();
  for (const PowerSource& source : facts.power_sources) {
    sources.push_back(
        {{"name", source.name}, {"readable", source.readable}, {"why", source.why}, {"path", source.path}});
  }
  return sources;
}

OrderedJson gpu_json(const MachineFacts& facts) {
  if (!facts.gpu) return {};
  const GpuFacts& gpu = *facts.gpu;
  return {{"name", gpu.name},
          {"compute_capability", to_string(gpu.capability)},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes},
          {"l2_bytes", gpu.l2_bytes},
          {"clock_mhz", gpu.clock_mhz},
          {"memory_clock_mhz", gpu.memory_clock_mhz},
          {"ecc", gpu.ecc},
          {"driver_api", gpu.driver_api}};
}

std::string gpu_text(const GpuFacts& gpu) {
  return fmt::format("{}, compute capability {}, {} multiprocessors at {} MHz at most, {} of L2, ECC {}, CUDA {}.{}",
                     gpu.name, to_string(gpu.capability), gpu.multiprocessors, gpu.clock_mhz, cache_size(gpu.l2_bytes),
                     gpu.ecc ? "on" : "off", gpu.driver_api / 1000, gpu.driver_api % 1000 / 10);
}

OrderedJson measured_or_null(double value) {
  return value > 0 ? OrderedJson(value) : OrderedJson();
}

}  // namespace

std::string render_probe(const MachineFacts& facts) {
  std::string text =
      labelled("processor", fmt::format("{}, {} core{} to run on, {} thread{} used", facts.processor, facts.cores,
                                        facts.cores == 1 ? "" : "s", facts.threads, facts.threads == 1 ? "" : "s"));
  text += labelled("instructions", to_string(facts.isa) + (facts.cap.empty() ? "" : " (capped: " + facts.cap + ")"));
  text +=
      labelled("frequency", facts.frequency_mhz ? fmt::format("{:.0f} MHz now", *facts.frequency_mhz) : "not readable");
  text += labelled("caches", caches_text(facts));
  if (facts.gpu) text += labelled("gpu", gpu_text(*facts.gpu));
  text += labelled("memory", memory_text(facts));
  text += labelled("system", facts.operating_system + ", " + facts.kernel);
  text += labelled("hypervisor", facts.hypervisor.empty() ? "none seen" : facts.hypervisor);
  for (const PowerSource& source : facts.power_sources) {
    text +=
        labelled("power", fmt::format("{}: {}{}", source.name, source.readable ? "" : "not readable: ", source.why));
  }
  text += peaks_table(facts) + busy_warning(facts);
  for (const MatmulPeak& peak : facts.peaks) {
    text += labelled(name(peak.operand), fmt::format("{}: {}", name(peak.verdict), peak.evidence));
  }
  return text;
}

OrderedJson machine_json(const MachineFacts& facts) {
  return {{"processor", facts.processor},
          {"hypervisor", facts.hypervisor.empty() ? OrderedJson() : OrderedJson(facts.hypervisor)},
          {"operating_system", facts.operating_system},
          {"kernel", facts.kernel},
          {"cores", facts.cores},
          {"threads", facts.threads},
          {"memory_bytes", facts.memory_bytes},
          {"available_bytes", facts.available_bytes},
          {"caches", caches_json(facts)},
          {"frequency_mhz", facts.frequency_mhz ? OrderedJson(*facts.frequency_mhz) : OrderedJson()},
          {"instruction_sets", isa_names(facts.isa)},
          {"cap", facts.cap.empty() ? OrderedJson() : OrderedJson(facts.cap)},
          {"gpu", gpu_json(facts)},
          {"power_sources", power_json(facts)},
          {"bandwidth_one_core_gbs", measured_or_null(facts.bandwidth_one_core_gbs)},
          {"bandwidth_gbs", measured_or_null(facts.bandwidth_gbs)},
          {"measured_share", measured_or_null(facts.measured_share)},
          {"peaks", peaks_json(facts)}};
}

}  // namespace assay
