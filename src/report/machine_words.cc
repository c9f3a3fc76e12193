#include "report/machine_words.h"

#include <fmt/format.h>

#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "report/phrases.h"

namespace assay {
namespace {

std::string machine_text(const OrderedJson& machine, const char* key) {
  const auto found = machine.find(key);
  return found == machine.end() || !found->is_string() ? "" : found->get<std::string>();
}

double number_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || !found->is_number() ? 0 : found->get<double>();
}

std::string peaks_sentence(const OrderedJson& machine) {
  const auto peaks = machine.find("peaks");
  if (peaks == machine.end() || !peaks->is_array()) return "";
  std::vector<std::string> rates;
  for (const OrderedJson& peak : *peaks) {
    const double rate = number_at(peak, "matmul_gflops");
    if (rate > 0) rates.push_back(fmt::format("{} {:.0f} GFLOP/s", machine_text(peak, "operand"), rate));
  }
  return rates.empty() ? "" : fmt::format("The best matrix products measured on it reached {}.", joined(rates));
}

}  // namespace

std::string machine_paragraph(const OrderedJson& machine) {
  Paragraph p;
  if (const std::string processor = machine_text(machine, "processor"); !processor.empty()) {
    p.say(fmt::format("Machine: {}, {:.0f} cores to run on, {:.0f} threads used, {} of memory.", processor,
                      number_at(machine, "cores"), number_at(machine, "threads"),
                      format_bytes(number_at(machine, "memory_bytes"))));
  }
  if (const std::string system = machine_text(machine, "operating_system"); !system.empty()) {
    p.say(fmt::format("System: {}, {}.", system, machine_text(machine, "kernel")));
  }
  if (const std::string under = machine_text(machine, "hypervisor"); !under.empty()) {
    p.say(fmt::format("It is a virtual machine ({}).", under));
  }
  if (const auto sets = machine.find("instruction_sets"); sets != machine.end() && sets->is_array()) {
    std::vector<std::string> names;
    for (const OrderedJson& set : *sets) names.push_back(set.is_string() ? set.get<std::string>() : set.dump());
    if (!names.empty()) p.say(fmt::format("Instruction sets in use: {}.", joined(names)));
  }
  if (const std::string cap = machine_text(machine, "cap"); !cap.empty()) p.say(fmt::format("Capped at {}.", cap));
  p.say(peaks_sentence(machine));
  if (const double rate = number_at(machine, "bandwidth_gbs"); rate > 0) {
    p.say(fmt::format("Reading memory with all threads reached {:.1f} GB/s.", rate));
  }
  if (const double share = number_at(machine, "measured_share"); share > 0) {
    p.say(fmt::format("Measuring these rates got {:.0f} % of the processor time it asked for.", 100 * share));
  }
  return p.text();
}

}  // namespace assay
