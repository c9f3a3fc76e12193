#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "results/derive.h"
#include "results/exchange.h"
#include "results/made_up_test.h"

namespace assay {

/// A machine as tests make it up.
struct SimulatedMachine {
  std::string host = "node1";
  std::string host_id = "0001";
  std::string kind = "Made-up processor, 8 cores";
  std::vector<std::string> instruction_sets = {"avx2", "avx512", "amx_bf16"};
  double slowness = 1;
  double clock_mhz = 2600;
  double bandwidth_bytes_per_s = 2e10;
};

inline std::string machine_text(const SimulatedMachine& machine) {
  const OrderedJson json = {{"host", machine.host},
                            {"host_id", machine.host_id},
                            {"processor", "Made-up processor"},
                            {"cores", 8},
                            {"memory_bytes", std::int64_t{64} << 30},
                            {"kernel", "Linux 6.1"},
                            {"frequency_mhz", machine.clock_mhz},
                            {"bandwidth_gbs", machine.bandwidth_bytes_per_s * 1e-9},
                            {"instruction_sets", machine.instruction_sets}};
  return json.dump();
}

inline void scale(std::vector<double>& values, double factor) {
  for (double& value : values) value *= factor;
}

/// The made-up cell (fp32, mixed-bf16, bf16, int8) at so many lengths, as that machine measures it: `noise` is the
/// deviation of log time between cells, beside one of the same size that all cells of the run share.
inline std::vector<Record> simulated_records(const SimulatedMachine& machine, std::int64_t cells, double noise,
                                             Random& random) {
  std::vector<Record> records;
  const double of_run = std::exp(noise * random.next_normal());
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    const double factor = machine.slowness * of_run * std::exp(noise * random.next_normal());
    for (Record record : made_up_cell()) {
      record.setting.seq = 128 + cell;
      record.setting.machine = machine.kind;
      scale(record.latency.made().raw_ms, factor);
      record.latency.made().timed_s = *record.latency->timed_s * factor;
      record.circumstances.made().frequency_before_mhz = machine.clock_mhz;
      record.circumstances.made().frequency_after_mhz = machine.clock_mhz;
      record.evidence.bandwidth_bytes_per_s = machine.bandwidth_bytes_per_s;
      records.push_back(std::move(record));
    }
  }
  return with_derived(std::move(records));
}

/// A run that ended, of these records.
inline ExchangedRun simulated_run(const SimulatedMachine& machine, const std::vector<Record>& records,
                                  const std::string& uid) {
  ExchangedRun one;
  one.run.uid = uid;
  one.run.started = "2026-01-02T03:00:00.000Z";
  one.run.ended = "2026-01-02T03:10:00.000Z";
  one.run.command = "assay bench smollm2-135m";
  one.run.machine = machine_text(machine);
  for (const Record& record : records) one.records.push_back({0, 0, *one.run.ended, record});
  return one;
}

}  // namespace assay
