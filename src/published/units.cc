#include <array>
#include <cctype>

#include "published/figure.h"

namespace assay {
namespace {

struct NamedUnit {
  std::string_view text;
  Unit unit;
};

constexpr auto time_ms = Dimension::time;

constexpr NamedUnit units[] = {
    {"ms", {time_ms, 1}},
    {"msec", {time_ms, 1}},
    {"millisecond", {time_ms, 1}},
    {"milliseconds", {time_ms, 1}},
    {"s", {time_ms, 1e3}},
    {"sec", {time_ms, 1e3}},
    {"secs", {time_ms, 1e3}},
    {"second", {time_ms, 1e3}},
    {"seconds", {time_ms, 1e3}},
    {"us", {time_ms, 1e-3}},
    {"usec", {time_ms, 1e-3}},
    {"µs", {time_ms, 1e-3}},
    {"μs", {time_ms, 1e-3}},
    {"ns", {time_ms, 1e-6}},
    {"min", {time_ms, 6e4}},
    {"minutes", {time_ms, 6e4}},
    {"mins", {time_ms, 6e4}},
    {"h", {time_ms, 3.6e6}},
    {"hr", {time_ms, 3.6e6}},
    {"hrs", {time_ms, 3.6e6}},
    {"hour", {time_ms, 3.6e6}},
    {"hours", {time_ms, 3.6e6}},
    {"day", {time_ms, 8.64e7}},
    {"days", {time_ms, 8.64e7}},
    {"J", {Dimension::energy, 1}},
    {"joule", {Dimension::energy, 1}},
    {"joules", {Dimension::energy, 1}},
    {"mJ", {Dimension::energy, 1e-3}},
    {"kJ", {Dimension::energy, 1e3}},
    {"uj", {Dimension::energy, 1e-6}},
    {"µj", {Dimension::energy, 1e-6}},
    {"wh", {Dimension::energy, 3600}},
    {"mwh", {Dimension::energy, 3.6}},
    {"W", {Dimension::power, 1}},
    {"watt", {Dimension::power, 1}},
    {"watts", {Dimension::power, 1}},
    {"mW", {Dimension::power, 1e-3}},
    {"kW", {Dimension::power, 1e3}},
    {"B", {Dimension::bytes, 1}},
    {"bytes", {Dimension::bytes, 1}},
    {"kb", {Dimension::bytes, 1e3}},
    {"kib", {Dimension::bytes, 1024}},
    {"MB", {Dimension::bytes, 1e6}},
    {"MiB", {Dimension::bytes, 1048576}},
    {"GB", {Dimension::bytes, 1e9}},
    {"GiB", {Dimension::bytes, 1073741824}},
    {"samp/s", {Dimension::rate, 1}},
    {"samples/s", {Dimension::rate, 1}},
    {"sample/s", {Dimension::rate, 1}},
    {"samples/sec", {Dimension::rate, 1}},
    {"samples/second", {Dimension::rate, 1}},
    {"sps", {Dimension::rate, 1}},
    {"seq/s", {Dimension::rate, 1}},
    {"sent/s", {Dimension::rate, 1}},
    {"inf/s", {Dimension::rate, 1}},
    {"inferences/s", {Dimension::rate, 1}},
    {"req/s", {Dimension::rate, 1}},
    {"it/s", {Dimension::rate, 1}},
    {"qps", {Dimension::rate, 1}},
    {"fps", {Dimension::rate, 1}},
    {"tok/s", {Dimension::token_rate, 1}},
    {"tokens/s", {Dimension::token_rate, 1}},
    {"tokens/sec", {Dimension::token_rate, 1}},
    {"tokens/second", {Dimension::token_rate, 1}},
    {"t/s", {Dimension::token_rate, 1}},
    {"gflops", {Dimension::tops, 1e-3}},
    {"gflop/s", {Dimension::tops, 1e-3}},
    {"tflops", {Dimension::tops, 1}},
    {"tflop/s", {Dimension::tops, 1}},
    {"tops", {Dimension::tops, 1}},
    {"kwh", {Dimension::energy, 3.6e6}},
    {"TB", {Dimension::bytes, 1e12}},
    {"TiB", {Dimension::bytes, 1099511627776.0}},
    {"mj/inf", {Dimension::energy, 1e-3}},
    {"kjoule", {Dimension::energy, 1e3}},
    {"mwatt", {Dimension::power, 1e-3}},
    {"ips", {Dimension::rate, 1}},
    {"im/s", {Dimension::rate, 1}},
    {"frames/s", {Dimension::rate, 1}},
    {"sequences/s", {Dimension::rate, 1}},
    {"sequences/sec", {Dimension::rate, 1}},
    {"sentences/s", {Dimension::rate, 1}},
    {"samples/sec/gpu", {Dimension::rate, 1}},
    {"inf/sec", {Dimension::rate, 1}},
    {"inferences/sec", {Dimension::rate, 1}},
    {"steps/s", {Dimension::rate, 1}},
    {"iter/s", {Dimension::rate, 1}},
    {"images/s", {Dimension::rate, 1}},
    {"images/sec", {Dimension::rate, 1}},
    {"img/s", {Dimension::rate, 1}},
    {"img/sec", {Dimension::rate, 1}},
    {"imgs/s", {Dimension::rate, 1}},
    {"items/s", {Dimension::rate, 1}},
    {"queries/s", {Dimension::rate, 1}},
    {"requests/s", {Dimension::rate, 1}},
    {"samples/s/gpu", {Dimension::rate, 1}},
    {"toks/s", {Dimension::token_rate, 1}},
    {"tok/sec", {Dimension::token_rate, 1}},
    {"token/s", {Dimension::token_rate, 1}},
    {"tps", {Dimension::token_rate, 1}},
    {"ktok/s", {Dimension::token_rate, 1e3}},
    {"ktokens/s", {Dimension::token_rate, 1e3}},
    {"tokens/s/gpu", {Dimension::token_rate, 1}},
    {"tok/s/gpu", {Dimension::token_rate, 1}},
    {"pflops", {Dimension::tops, 1e3}},
    {"pflop/s", {Dimension::tops, 1e3}},
    {"top/s", {Dimension::tops, 1}},
    {"mb/s", {Dimension::bandwidth, 1e-3}},
    {"gb/s", {Dimension::bandwidth, 1}},
    {"gib/s", {Dimension::bandwidth, 1.073741824}},
    {"tb/s", {Dimension::bandwidth, 1e3}},
    {"ko", {Dimension::bytes, 1e3}},
    {"mo", {Dimension::bytes, 1e6}},
    {"go", {Dimension::bytes, 1e9}},
    {"échantillons/s", {Dimension::rate, 1}},
    {"bilder/s", {Dimension::rate, 1}},
    {"proben/s", {Dimension::rate, 1}},
    {"jetons/s", {Dimension::token_rate, 1}},
    {"%", {Dimension::percent, 0.01}},
    {"x", {Dimension::ratio, 1}},
    {"×", {Dimension::ratio, 1}},
    {"times", {Dimension::ratio, 1}},
};

/// Whether `text` in lower case is `lower`.
bool is_same(std::string_view text, const std::string& lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<char>(std::tolower(static_cast<unsigned char>(text[i]))) != lower[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<Unit> read_unit(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  // "MW" and "MJ" are 10^6, yet nobody's model draws that: the case of M is not looked at.
  for (const NamedUnit& one : units) {
    if (is_same(one.text, lower)) return one.unit;
  }
  return std::nullopt;
}

std::string unit_name(Unit unit) {
  for (const NamedUnit& one : units) {
    if (one.unit.dimension == unit.dimension && one.unit.factor == unit.factor) return std::string(one.text);
  }
  return "";
}

}  // namespace assay
