#include <array>
#include <iterator>

#include "base/lower_case.h"
#include "published/claims.h"

namespace assay {
namespace {

struct SubjectRow {
  ClaimSubject subject;
  const char* name;
  std::vector<Quantity> quantities;
};

const std::vector<SubjectRow>& subject_rows() {
  using Q = Quantity;
  static const std::vector<SubjectRow> rows = {
      {ClaimSubject::none, "nothing", {}},
      {ClaimSubject::speed,
       "speed",
       {Q::latency, Q::step, Q::forward, Q::backward, Q::tpot, Q::throughput, Q::tokens_per_s, Q::prompt_rate, Q::ttft,
        Q::median, Q::rate}},
      {ClaimSubject::time,
       "time",
       {Q::latency, Q::step, Q::forward, Q::backward, Q::tpot, Q::ttft, Q::median, Q::p90, Q::p95, Q::p99, Q::optimizer,
        Q::least, Q::most}},
      {ClaimSubject::rate, "throughput", {Q::throughput, Q::tokens_per_s, Q::prompt_rate, Q::rate}},
      {ClaimSubject::energy, "energy", {Q::energy, Q::token_energy, Q::run_energy}},
      {ClaimSubject::power, "power", {Q::power}},
      {ClaimSubject::memory, "memory", {Q::memory, Q::size, Q::kv_cache}},
      {ClaimSubject::size, "size", {Q::size, Q::memory}},
      {ClaimSubject::accuracy, "accuracy", {Q::accuracy}},
      {ClaimSubject::perplexity, "perplexity", {Q::perplexity}},
  };
  return rows;
}

}  // namespace

const char* name(ClaimVerdict verdict) {
  constexpr std::array names = {"holds", "contradicted", "unbound", "not held"};
  return names[static_cast<std::size_t>(verdict)];
}

std::span<const Quantity> quantities_of(ClaimSubject subject) {
  return subject_rows()[static_cast<std::size_t>(subject)].quantities;
}

const char* name(ClaimSubject subject) {
  return subject_rows()[static_cast<std::size_t>(subject)].name;
}

bool NamedRows::holds(const Observation& row) const {
  if (precision != PrecisionName::unknown) {
    const PrecisionName own = row.precision.precision;
    return own == precision || (is_mixed(own) && operand_bits(precision) == 16) ||
           (is_mixed(precision) && is_mixed(own));
  }
  if (words.empty()) return true;
  return lower_case(row.label + "|" + row.model_text + "|" + row.group).find(words) != std::string::npos;
}

std::string NamedRows::shown() const {
  return precision != PrecisionName::unknown ? name(precision) : words;
}

}  // namespace assay
