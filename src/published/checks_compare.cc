#include <algorithm>
#include <cmath>

#include "published/checks.h"

namespace assay {
namespace {

constexpr Quantity compared_durations[] = {Quantity::latency, Quantity::forward, Quantity::step};

bool says_cause(const std::string& notes) {
  constexpr std::string_view words[] = {"overhead",  "emulat",        "cast",      "launch",      "dequant",
                                        "no tensor", "not supported", "fallback",  "host",        "kernel",
                                        "small",     "unsupported",   "bandwidth", "memory-bound"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return notes.find(word) != std::string::npos; });
}

/// How much faster the group's pure 16-bit row is than its baseline; 0 without one.
double pure_speedup(const std::vector<const Observation*>& group, const Observation& baseline, Quantity duration) {
  for (const Observation* row : group) {
    const bool is_pure =
        row->precision.precision == PrecisionName::fp16 || row->precision.precision == PrecisionName::bf16;
    const Measured* time = row->find(duration);
    if (is_pure && time && time->figure.value > 0) return baseline.find(duration)->figure.value / time->figure.value;
  }
  return 0;
}

struct Slower {
  const PublishedTable& table;
  const std::vector<const Observation*>& group;
  const Observation& row;
  const Observation& baseline;
  Quantity duration;
};

/// Whether another setting of the table, of the same device, gains by the precision.
bool is_faster_elsewhere(const Slower& s) {
  for (const auto& group : s.table.groups()) {
    const Observation* base = baseline_of(group);
    for (const Observation* row : group) {
      if (!base || row->precision.precision != s.row.precision.precision || row->device != s.row.device) continue;
      const Measured* own = row->find(s.duration);
      const Measured* wide = base->find(s.duration);
      if (own && wide && own->figure.value < 0.9 * wide->figure.value) return true;
    }
  }
  return false;
}

/// Why, where the table or what is known of device and model shows it; else empty.
std::string cause_of(const Slower& s) {
  const PrecisionName precision = s.row.precision.precision;
  if (runs_on_cpu(s.row)) return "it ran on the CPU, so the two rows are of two machines";
  if (s.row.device && support(*s.row.device, precision) == Support::emulated)
    return fmt::format("a {} has no {} products, they are emulated", s.row.device->name, name(precision));
  if (s.row.device && support(*s.row.device, precision) == Support::slow)
    return fmt::format("a {} runs {} products far below fp32's rate", s.row.device->name, name(precision));
  const double pure = pure_speedup(s.group, s.baseline, s.duration);
  if (is_mixed(precision) && pure > 0 && pure < 1.6)
    return fmt::format(
        "overhead-bound: even pure 16 bits give only {}x, so arithmetic is not what takes the time, and "
        "autocast adds its casts to it",
        shown(pure));
  const auto rate = implied_tops(s.table, s.baseline, s.duration);
  if (s.row.device && rate && rate->high < 0.35 * s.row.device->fp32)
    return fmt::format(
        "overhead-bound: fp32 reaches {} of the {} TFLOP/s that a {} has, so arithmetic is not what takes "
        "the time",
        shown(*rate), shown(s.row.device->fp32), s.row.device->name);
  if (is_faster_elsewhere(s))
    return "overhead-bound: with more work in a row the same precision is faster, so arithmetic is not what takes the "
           "time";
  if (says_cause(s.row.notes)) return "the table says: " + s.row.notes;
  return "";
}

void say_slower(const Slower& s, Complaints& say) {
  const Measured& time = *s.row.find(s.duration);
  const Measured& base = *s.baseline.find(s.duration);
  const std::string cause = cause_of(s);
  const double ratio = base.figure.value / time.figure.value;
  std::string sentence = fmt::format("{} is slower than {}, {} against {} ({}x as fast)", s.row.label, s.baseline.label,
                                     shown(time), shown(base), shown(ratio, 2));
  // Small models are bound by launches, whatever the precision: a little slower is odd and no fault.
  const Severity severity =
      cause.empty() && ratio < 0.9 && stored_bits(s.row.precision.precision) > 8 ? Severity::high : Severity::medium;
  if (!cause.empty()) {
    sentence += ": " + cause + ".";
  } else if (is_mixed(s.row.precision.precision)) {
    sentence +=
        ": not impossible (overhead-bound work with casts at every call does that), but nothing in the table "
        "shows the cause.";
  } else {
    sentence += ", and nothing in the table shows why: emulated, overhead-bound, on another device?";
  }
  say.figure(time, std::move(sentence), fmt::format("{} / {} = {}", shown(base), shown(time), shown(ratio)), severity);
}

/// How often two rows print the same figure among duration, energy, throughput and size, and in how many digits.
struct Sameness {
  int compared = 0;
  int equal = 0;
  int digits = 0;
  bool has_speed = false;
  std::string figures;
};

Sameness compare(const Observation& a, const Observation& b) {
  Sameness same;
  for (const Quantity quantity :
       {Quantity::latency, Quantity::forward, Quantity::step, Quantity::energy, Quantity::throughput, Quantity::size}) {
    const Measured* x = a.find(quantity);
    const Measured* y = b.find(quantity);
    if (!x || !y || x->figure.value == 0) continue;
    ++same.compared;
    if (x->figure.value != y->figure.value) continue;
    ++same.equal;
    same.digits += std::min(x->figure.significant, y->figure.significant);
    same.has_speed = same.has_speed || quantity != Quantity::size;
    same.figures += fmt::format("{}{} {}", same.figures.empty() ? "" : ", ", name(quantity), shown(*x));
  }
  return same;
}

void check_pair(const Observation& a, const Observation& b, Complaints& say) {
  const PrecisionName x = a.precision.precision;
  const PrecisionName y = b.precision.precision;
  if (x == y || x == PrecisionName::unknown || y == PrecisionName::unknown) return;
  const Sameness same = compare(a, b);
  if (same.equal < 2 || same.equal != same.compared || !same.has_speed) return;
  const bool other_bits = operand_bits(x) != operand_bits(y);
  const bool is_certain = other_bits && (same.equal >= 3 || same.digits >= 6);
  const Severity severity = is_certain                       ? Severity::high
                            : other_bits || same.digits >= 7 ? Severity::medium
                                                             : Severity::info;
  const Observation& narrow = operand_bits(x) < operand_bits(y) ? a : b;
  const Observation& wide = &narrow == &a ? b : a;
  std::string sentence = fmt::format("{} has exactly {}'s {}", narrow.label, wide.label, same.figures);
  sentence += other_bits ? fmt::format(": what ran under the name {} is {}.", name(narrow.precision.precision),
                                       name(wide.precision.precision))
                         : ": the two may be one run under two names.";
  say.row(narrow, std::move(sentence), same.figures, severity);
}

bool has_speed(const Observation& row) {
  return std::any_of(row.figures.begin(), row.figures.end(), [](const auto& one) {
    return is_duration(one.first) || one.first == Quantity::throughput || one.first == Quantity::energy ||
           one.first == Quantity::tokens_per_s || one.first == Quantity::rate || one.first == Quantity::tpot ||
           one.first == Quantity::speedup || one.first == Quantity::prompt_rate;
  });
}

const Measured* speed_figure(const Observation& row) {
  for (const Quantity quantity :
       {Quantity::latency, Quantity::forward, Quantity::step, Quantity::throughput, Quantity::energy,
        Quantity::tokens_per_s, Quantity::tpot, Quantity::rate, Quantity::prompt_rate, Quantity::speedup}) {
    if (const Measured* measured = row.find(quantity)) return measured;
  }
  return nullptr;
}

/// "against FP32's 8.2 ms", where the row has a partner.
std::string beside_baseline(const Observation* baseline, const Observation& row) {
  if (!baseline || baseline == &row) return "";
  const auto duration = common_duration(*baseline, row);
  if (!duration) return "";
  return fmt::format(", {} against {}'s {}", shown(*row.find(*duration)), baseline->label,
                     shown(*baseline->find(*duration)));
}

void check_support_of(const KnownDevice& device, const std::string& source, Support wanted, const Observation& row,
                      const Observation* baseline, Complaints& say) {
  const PrecisionName precision = row.precision.precision;
  if (precision == PrecisionName::unknown || precision == PrecisionName::int4 || runs_on_cpu(row) || !has_speed(row))
    return;
  const Measured* figure = speed_figure(row);
  if (support(device, precision) != wanted || !figure || figure->figure.value <= 0) return;
  const bool is_stored_alone =
      row.notes.starts_with("computes in ") && read_precision(row.notes).precision != precision;
  if (is_stored_alone) return;
  const std::string what =
      wanted == Support::emulated
          ? fmt::format("has no {} products (compute capability {}): what ran was emulated in another dtype",
                        name(precision), device.capability)
          : fmt::format("runs {} products at {} of fp32's rate (compute capability {})", name(precision),
                        shown(device.fp16 / device.fp32), device.capability);
  say.figure(*figure, fmt::format("a {} {}{}.", device.name, what, beside_baseline(baseline, row)),
             fmt::format("{} ({}), {}", device.name, source, device.source),
             wanted == Support::emulated ? Severity::high : Severity::medium);
}

void check_support(const PublishedTable& table, Support wanted, Complaints& say) {
  for (const auto& group : table.groups()) {
    const Observation* baseline = baseline_of(group);
    for (const Observation* row : group)
      if (row->device) check_support_of(*row->device, table.device_source, wanted, *row, baseline, say);
  }
}

}  // namespace

bool runs_on_cpu(const Observation& row) {
  const auto says_cpu = [](const std::string& text) {
    return text.find("CPU") != std::string::npos || text.find("cpu") != std::string::npos;
  };
  return row.precision.is_on_cpu || says_cpu(row.device_text) || says_cpu(row.notes);
}

std::optional<Quantity> common_duration(const Observation& a, const Observation& b) {
  for (const Quantity duration : compared_durations) {
    const Measured* x = a.find(duration);
    const Measured* y = b.find(duration);
    if (x && y && x->figure.value > 0 && y->figure.value > 0) return duration;
  }
  return std::nullopt;
}

void check_slower(const PublishedTable& table, Complaints& say) {
  for_pairs_with_baseline(table, [&](const auto& group, const Observation& baseline, const Observation& row) {
    const auto duration = common_duration(baseline, row);
    if (!duration || row.precision.precision == PrecisionName::tf32) return;
    if (row.find(*duration)->figure.range.low <= 1.02 * baseline.find(*duration)->figure.range.high) return;
    say_slower({table, group, row, baseline, *duration}, say);
  });
}

void check_same_figures(const PublishedTable& table, Complaints& say) {
  constexpr std::size_t most_rows = 200;
  for (const auto& group : table.groups()) {
    if (group.size() > most_rows) {
      say.row(*group.front(),
              fmt::format("{} rows of one setting are too many to compare each with each: skipped.", group.size()),
              group.front()->group, Severity::info);
      continue;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) check_pair(*group[j], *group[i], say);
    }
  }
}

void check_stand_ins(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const PrecisionWords noted = read_precision(row.notes);
    const bool is_noted = row.precision.precision == PrecisionName::int8 &&
                          (noted.precision == PrecisionName::fp16 || noted.precision == PrecisionName::bf16) &&
                          (row.notes.find("proxy") != std::string::npos || noted.stands_in == PrecisionName::int8);
    if (row.precision.stands_in == PrecisionName::unknown && !is_noted) continue;
    const PrecisionName ran = is_noted ? noted.precision : row.precision.precision;
    const PrecisionName called = is_noted ? row.precision.precision : row.precision.stands_in;
    say.row(row,
            fmt::format("{} ran under the name of {}: its size, speed and accuracy are {}'s and say nothing of {}.",
                        name(ran), name(called), name(ran), name(called)),
            is_noted ? row.notes : row.label);
  }
}

namespace {

/// "FP8 (native)", a note "native", or a column "Native precision".
bool claims_native(const PublishedTable& table, const Observation& row) {
  const auto has = [](std::string text, std::string_view word) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text.find(word) != std::string::npos;
  };
  const std::string own = " " + row.label + " " + row.notes + " ";
  for (const char* other : {"not ", "non", " no ", "without", "lack", "emulat", "simulat"}) {
    if (has(own, other)) return false;
  }
  return has(own, "native") || std::any_of(table.columns.begin(), table.columns.end(), [&](const std::string& column) {
           return column.ends_with(": precision") && has(column, "native");
         });
}

void check_native(const PublishedTable& table, Complaints& say) {
  for (const Observation& row : table.rows) {
    const PrecisionName precision = row.precision.precision;
    if (!row.device || precision == PrecisionName::unknown || !claims_native(table, row)) continue;
    if (support(*row.device, precision) != Support::emulated) continue;
    say.row(
        row,
        fmt::format("{} is called native, yet a {} has no {} products.", row.label, row.device->name, name(precision)),
        row.label, Severity::high);
  }
}

}  // namespace

void check_emulated(const PublishedTable& table, Complaints& say) {
  check_support(table, Support::emulated, say);
  check_native(table, say);
}

void check_slow_precision(const PublishedTable& table, Complaints& say) {
  check_support(table, Support::slow, say);
}

void check_speedup_peaks(const PublishedTable& table, Complaints& say) {
  for_pairs_with_baseline(table, [&](const auto&, const Observation& baseline, const Observation& row) {
    const auto duration = common_duration(baseline, row);
    if (!duration || runs_on_cpu(baseline) || runs_on_cpu(row)) return;
    const Measured& time = *row.find(*duration);
    const Measured& base = *baseline.find(*duration);
    const Range ratio = base.figure.range / time.figure.range;
    const PrecisionName precision = row.precision.precision;
    const double bytes = 32.0 / operand_bits(precision);
    const double peaks = row.device ? peak_tops(*row.device, precision) / row.device->fp32 : 24;
    if (ratio.low <= 1.3 * most_speedup(peaks, bytes)) return;
    say.figure(
        time,
        fmt::format("{} is {}x as fast as {}, though {} gives at most {}x in arithmetic and {}x in bytes: the two "
                    "rows did not do the same work.",
                    row.label, shown(ratio), baseline.label, row.device ? row.device->name : "any device", shown(peaks),
                    shown(bytes)),
        fmt::format("{} / {} = {}", shown(base), shown(time), shown(ratio)),
        row.device ? Severity::high : Severity::medium);
  });
}

}  // namespace assay
