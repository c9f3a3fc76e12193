#include <fmt/format.h>

#include "base/json.h"
#include "hardware/host.h"
#include "hardware/isa_cap.h"
#include "results/table_json.h"
#include "studies/probe/run.h"

namespace assay {
namespace {

Table::Cell measured_or_absent(double value) {
  return value > 0 ? Table::Cell(value) : Table::Cell(Absent{"not measured"});
}

void add_bandwidth(const MachineFacts& facts, Table& table) {
  add_fact(table,
           {.key = "bandwidth_one_core_gbs",
            .title = "memory, one core",
            .unit = "GB/s",
            .detail = facts.gpu ? Detail::data : Detail::brief},
           measured_or_absent(facts.bandwidth_one_core_gbs));
  add_fact(table, {.key = "bandwidth_gbs", .title = "memory, all of them", .unit = "GB/s"},
           measured_or_absent(facts.bandwidth_gbs));
  add_fact(table,
           {.key = "bandwidth_high_gbs",
            .title = "by its readings at most",
            .unit = "GB/s",
            .meaning = "the highest, and as much above it as they differ: what gates compare with"},
           measured_or_absent(facts.bandwidth_high_gbs()));
  add_fact(table, {.key = "bandwidth_readings_gbs", .unit = "GB/s", .detail = Detail::data},
           facts.bandwidth_readings_gbs);
  add_fact(table,
           {.key = "measured_share",
            .title = "processor time got while measuring",
            .notation = Notation::percent,
            .digits = 0,
            .detail = Detail::details},
           measured_or_absent(facts.measured_share));
}

/// What stands at the top of the JSON.
Table machine_facts_table(const MachineFacts& facts) {
  Table table = Document{}.subject.facts;
  const auto fact = [&](const char* key, const char* title, Table::Cell value, Notation notation = Notation::exact) {
    const Detail detail = *title == 0 ? Detail::data : Detail::brief;
    add_fact(table, {.key = key, .title = title, .notation = notation, .detail = detail}, std::move(value));
  };
  fact("host", "host", text_or_absent(this_host().name));
  fact("host_id", "", text_or_absent(this_host().id));
  fact("processor", "", facts.processor);
  fact("cores", "cores to run on", std::int64_t{facts.cores});
  fact("threads", "threads used", std::int64_t{facts.threads});
  fact("instruction_sets", "instructions", isa_names(facts.isa));
  fact("cap", facts.cap.empty() ? "" : "capped", text_or_absent(facts.cap));
  add_fact(table, {.key = "frequency_mhz", .title = "frequency now", .unit = "MHz"},
           or_absent(facts.frequency_mhz, "not readable"));
  fact("memory_bytes", "memory", facts.memory_bytes, Notation::bytes);
  fact("available_bytes", "available", facts.available_bytes, Notation::bytes);
  add_bandwidth(facts, table);
  fact("operating_system", "system", facts.operating_system);
  fact("kernel", "kernel", facts.kernel);
  fact("hypervisor", "hypervisor", facts.hypervisor.empty() ? Table::Cell(Absent{"none seen"}) : facts.hypervisor);
  if (!facts.gpu) fact("gpu", "", Absent{});
  return table;
}

Table gpu_table(const GpuFacts& gpu) {
  Table table{.key = "gpu", .caption = "GPU", .form = Table::Form::facts};
  const auto fact = [&](const char* key, const char* title, Table::Cell value, Notation notation = Notation::exact) {
    add_fact(table, {.key = key, .title = title, .notation = notation}, std::move(value));
  };
  fact("name", "", gpu.name);
  fact("compute_capability", "compute capability", to_string(gpu.capability));
  fact("multiprocessors", "", std::int64_t{gpu.multiprocessors});
  fact("memory_bytes", "memory", gpu.memory_bytes, Notation::bytes);
  fact("l2_bytes", "L2", gpu.l2_bytes, Notation::bytes);
  fact("clock_mhz", "clock at most, MHz", std::int64_t{gpu.clock_mhz});
  fact("memory_clock_mhz", "clock of the memory, MHz", std::int64_t{gpu.memory_clock_mhz});
  fact("ecc", "ECC", gpu.ecc);
  fact("driver_api", "driver's CUDA", std::int64_t{gpu.driver_api});
  return table;
}

Table caches_table(const MachineFacts& facts) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<Cache>> columns = {
      {{.key = "level", .role = Table::Role::label}, [](const Cache& c) -> Cell { return std::int64_t{c.level}; }},
      {{.key = "bytes", .title = "size", .unit = "bytes", .notation = Notation::bytes},
       [](const Cache& c) -> Cell { return c.bytes; }},
      {{.key = "shared_by_cores", .title = "shared by cores"},
       [](const Cache& c) -> Cell { return std::int64_t{c.shared_by_cores}; }},
      {{.key = "instances", .detail = Detail::data}, [](const Cache& c) -> Cell { return std::int64_t{c.instances}; }}};
  return filled({.key = "caches", .caption = "Caches"}, columns, facts.caches);
}

Table power_table(const MachineFacts& facts) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<PowerSource>> columns = {
      {{.key = "name", .title = "source", .role = Table::Role::label},
       [](const PowerSource& s) -> Cell { return s.name; }},
      {{.key = "readable"}, [](const PowerSource& s) -> Cell { return s.readable; }},
      {{.key = "why"}, [](const PowerSource& s) -> Cell { return s.why; }},
      {{.key = "path", .detail = Detail::data}, [](const PowerSource& s) -> Cell { return s.path; }}};
  return filled({.key = "power_sources", .caption = "Power"}, columns, facts.power_sources);
}

Table::Column rate_column(std::string key, std::string title) {
  return {.key = std::move(key), .title = std::move(title), .unit = "GFLOP/s"};
}

Table peaks_table(const MachineFacts& facts) {
  using Cell = Table::Cell;
  const MatmulPeak* fp32 = facts.peak(DType::f32);
  const double fp32_gflops = fp32 == nullptr ? 0 : fp32->matmul_gflops;
  const std::vector<ColumnOf<MatmulPeak>> columns = {
      {{.key = "operand", .role = Table::Role::label}, [](const MatmulPeak& p) -> Cell { return name(p.operand); }},
      {{.key = "instruction", .meaning = "the best that it has for that dtype"},
       [](const MatmulPeak& p) -> Cell { return text_or_absent(p.instruction); }},
      {rate_column("instruction_gflops", "by it alone"),
       [](const MatmulPeak& p) -> Cell { return p.instruction_gflops; }},
      {{.key = "instruction_readings_gflops", .unit = "GFLOP/s", .detail = Detail::data},
       [](const MatmulPeak& p) -> Cell { return p.instruction_readings_gflops; }},
      {rate_column("matmul_gflops", "matmul"), [](const MatmulPeak& p) -> Cell { return p.matmul_gflops; }},
      {{.key = "over_fp32", .title = "over fp32", .notation = Notation::fixed, .digits = 2},
       [fp32_gflops](const MatmulPeak& p) -> Cell {
         if (fp32_gflops <= 0) return Absent{};
         return p.matmul_gflops / fp32_gflops;
       }},
      {{.key = "kernel", .detail = Detail::data}, [](const MatmulPeak& p) -> Cell { return p.kernel; }},
      {{.key = "verdict"}, [](const MatmulPeak& p) -> Cell { return name(p.verdict); }},
      {{.key = "evidence"}, [](const MatmulPeak& p) -> Cell { return p.evidence; }}};
  return filled({.key = "peaks", .caption = "Matrix products in each operand dtype"}, columns, facts.peaks);
}

/// `key` of the peaks' member, `what` was measured.
Table rates_table(std::string key, std::string what, const std::vector<MatmulRate>& rates) {
  using Cell = Table::Cell;
  const std::vector<ColumnOf<MatmulRate>> columns = {
      {{.key = "implementation", .role = Table::Role::label},
       [](const MatmulRate& r) -> Cell { return r.key.implementation; }},
      {{.key = "operation"}, [](const MatmulRate& r) -> Cell { return r.key.operation; }},
      {{.key = "kernel"}, [](const MatmulRate& r) -> Cell { return r.kernel; }},
      {{.key = "computed", .title = "computed in"}, [](const MatmulRate& r) -> Cell { return name(r.computed); }},
      {{.key = "plain_loops", .title = "plain loops"},
       [](const MatmulRate& r) -> Cell { return r.arithmetic == Arithmetic::scalar_loops; }},
      {rate_column("gflops", "rate"), [](const MatmulRate& r) -> Cell { return r.gflops; }},
      {rate_column("streaming_gflops", "weights from memory"),
       [](const MatmulRate& r) -> Cell { return r.streaming_gflops; }}};
  return filled({.key = std::move(key), .caption = std::move(what), .detail = Detail::details}, columns, rates);
}

std::vector<Table> machine_tables(const MachineFacts& facts) {
  std::vector<Table> tables;
  if (facts.gpu) tables.push_back(gpu_table(*facts.gpu));
  tables.push_back(caches_table(facts));
  tables.push_back(power_table(facts));
  tables.push_back(peaks_table(facts));
  for (std::size_t i = 0; i < facts.peaks.size(); ++i) {
    const MatmulPeak& peak = facts.peaks[i];
    const std::string kernels = fmt::format("Every kernel that takes {}", name(peak.operand));
    tables.push_back(rates_table(fmt::format("peaks.{}.rates", i), kernels, peak.rates));
    tables.push_back(rates_table(fmt::format("peaks.{}.row_rates", i), kernels + ", by one row", peak.row_rates));
  }
  return tables;
}

std::vector<std::string> notes_on(const MachineFacts& facts) {
  if (facts.peaks.empty()) return {"Peaks were not measured."};
  if (!facts.was_busy()) return {};
  return {
      fmt::format("Others had much of the processors: measuring got {:.0f} % of the time it asked for, so the figures "
                  "may be too low; they are kept for ten minutes only.",
                  100 * facts.measured_share)};
}

}  // namespace

OrderedJson machine_json(const MachineFacts& facts) {
  OrderedJson json = OrderedJson::object();
  put_table(machine_facts_table(facts), json);
  for (const Table& table : machine_tables(facts)) put_table(table, json);
  return json;
}

Document machine_document(const MachineFacts& facts) {
  return {.subject = {.schema = "assay-machine-1", .title = facts.processor, .facts = machine_facts_table(facts)},
          .tables = machine_tables(facts),
          .sentences = {{.texts = notes_on(facts)}}};
}

}  // namespace assay
