#include "kernels/kernel.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/verdict.h"

namespace assay {

NormRows norm_rows(const Argument& x, const Argument& gain) {
  const std::int64_t width = gain.present ? gain.width() : x.width();
  const std::int64_t groups = x.width() / width;
  return {x.rows() * groups, width, groups};
}

std::int64_t Argument::rows() const {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) product *= shape[axis];
  return product;
}

std::int64_t Argument::rows_each() const {
  std::int64_t product = 1;
  for (std::size_t axis = 1; axis + 1 < shape.size(); ++axis) product *= shape[axis];
  return product;
}

const Argument& Call::in(std::size_t index) const {
  static const Argument absent;
  return index < inputs.size() ? inputs[index] : absent;
}

const Argument& Call::out(std::size_t index) const {
  static const Argument absent;
  return index < outputs.size() ? outputs[index] : absent;
}

namespace {

double choice_gflops(const MatmulRate& rate) {
  return rate.streaming_gflops > 0 ? rate.streaming_gflops : rate.gflops;
}

KernelKey key_of(const Operation& operation, const Implementation& implementation) {
  return {operation.name, implementation.name};
}

/// Those that were measured with about as many rows.
const std::vector<MatmulRate>& rates_for(const Call& call, const MatmulPeak& peak) {
  return call.in(0).rows() <= few_rows && !peak.row_rates.empty() ? peak.row_rates : peak.rates;
}

double measured_gflops(const KernelKey& kernel, const std::vector<MatmulRate>& rates) {
  for (const MatmulRate& rate : rates) {
    if (rate.key == kernel) return choice_gflops(rate);
  }
  return 0;
}

/// Rates are those of the two linear operations by whole operands and constant weights; attention, weight-only 8 bits
/// and f16 sums have none, though their kernels may bear the same names.
bool is_measured(const Call& call) {
  const bool is_packed = call.operation == &op::linear && call.in(1).constant;
  return (is_packed && call.attributes.accumulator == DType::f32) ||
         (call.operation == &op::quantized_linear && size_of(call.in(0).dtype) == 1);
}

/// Measured ones by their rates, then the others; the order that they come in within measured_alike.
template <typename T, typename Gflops>
std::vector<T> by_rate(std::vector<T> left, Gflops&& gflops) {
  std::vector<T> order;
  while (!left.empty()) {
    double best = 0;
    for (const T& one : left) best = std::max(best, gflops(one));
    const auto next =
        std::find_if(left.begin(), left.end(), [&](const T& one) { return gflops(one) >= measured_alike * best; });
    order.push_back(*next);
    left.erase(next);
  }
  return order;
}

std::vector<const Implementation*> candidates(const Backend& backend, const Call& call, const MachineFacts& facts) {
  std::vector<const Implementation*> all;
  for (const OperationKernels& kernels : backend.table) {
    if (kernels.operation != call.operation) continue;
    for (const Implementation& implementation : kernels.implementations) all.push_back(&implementation);
  }
  const MatmulPeak* peak = is_measured(call) ? facts.peak(asked_operand(call)) : nullptr;
  if (peak == nullptr || facts.was_busy()) return all;
  const std::vector<MatmulRate>& rates = rates_for(call, *peak);
  return by_rate(std::move(all),
                 [&](const Implementation* one) { return measured_gflops(key_of(*call.operation, *one), rates); });
}

Prepared judged(Prepared prepared, const Call& call, const Implementation& implementation, const MachineFacts& facts) {
  if (!is_product(call)) return prepared;
  const KernelKey measured_as = is_measured(call) ? key_of(*call.operation, implementation) : KernelKey{};
  // Operands that were rounded to 8 bits are stored wider: where they are multiplied as such, that was asked.
  const bool as_rounded = size_of(call.attributes.math) == 1 && size_of(prepared.operand) == 1;
  const ProductVerdict judgement = verdict_of({as_rounded ? prepared.operand : asked_operand(call), prepared.operand,
                                               prepared.arithmetic, measured_as, prepared.accumulator},
                                              facts);
  prepared.verdict = judgement.verdict;
  prepared.evidence = judgement.evidence;
  if (size_of(call.attributes.math) == 1 && !as_rounded) {
    prepared.verdict = Verdict::emulated;
    prepared.evidence =
        fmt::format("operands of 8 bits are multiplied as {}; {}", name(prepared.operand), prepared.evidence);
  }
  return prepared;
}

}  // namespace

std::vector<MatmulRate> in_order_of_choice(const Backend& backend, const MachineFacts& facts,
                                           const std::vector<MatmulRate>& rates) {
  std::vector<MatmulRate> as_listed = rates;
  const auto place = [&](const MatmulRate& rate) {
    std::size_t index = 0;
    for (const OperationKernels& kernels : backend.table) {
      for (const Implementation& one : kernels.implementations) {
        if (rate.key == key_of(*kernels.operation, one)) return index;
        ++index;
      }
    }
    return index;
  };
  std::stable_sort(as_listed.begin(), as_listed.end(),
                   [&](const MatmulRate& a, const MatmulRate& b) { return place(a) < place(b); });
  return facts.was_busy() ? as_listed : by_rate(std::move(as_listed), choice_gflops);
}

Offer prepare(const Backend& backend, const Call& call, const MachineFacts& facts) {
  std::string refusals;
  std::string reported;
  for (const Implementation* implementation : candidates(backend, call, facts)) {
    Offer offer = implementation->prepare(call, facts);
    if (auto* prepared = std::get_if<Prepared>(&offer)) {
      Prepared taken = judged(std::move(*prepared), call, *implementation, facts);
      taken.evidence += reported;
      return taken;
    }
    const std::string& why = std::get<Declined>(offer).why;
    refusals += fmt::format("{}{}: {}", refusals.empty() ? "" : "; ", implementation->name, why);
    if (implementation->refusal == Refusal::reported)
      reported += fmt::format("; not {}: {}", implementation->name, why);
  }
  if (refusals.empty()) refusals = fmt::format("{} has no kernel for {}", backend.name, call.operation->name);
  return Declined{refusals};
}

}  // namespace assay
