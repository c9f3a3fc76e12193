#include <algorithm>
#include <cctype>
#include <set>

#include "program/operation.h"
#include "studies/profile/run.h"

namespace assay {
namespace {

struct Kinds {
  OperationKind kind;
  std::vector<const Operation*> operations;
};

const std::vector<Kinds>& kinds() {
  static const std::vector<Kinds> all = {
      {OperationKind::matmul,
       {&op::linear, &op::quantized_linear, &op::linear_input_gradient, &op::linear_weight_gradient}},
      {OperationKind::attention,
       {&op::attention, &op::attention_scores, &op::softmax, &op::attention_context, &op::attention_gradient,
        &op::softmax_gradient, &op::attention_context_transposed}},
      {OperationKind::norm,
       {&op::layer_norm, &op::rms_norm, &op::add_layer_norm, &op::add_rms_norm, &op::layer_norm_gradient,
        &op::rms_norm_gradient}},
      {OperationKind::activation,
       {&op::activation, &op::gated_activation, &op::gate, &op::activation_gradient, &op::gate_gradient}},
      {OperationKind::embedding, {&op::embedding, &op::add_rows, &op::embedding_gradient, &op::add_rows_gradient}},
      {OperationKind::casts, {&op::cast, &op::quantize_rows, &op::quantize_weight}},
      {OperationKind::loss, {&op::cross_entropy, &op::cross_entropy_gradient}},
      {OperationKind::optimizer, {&op::adamw, &op::sgd, &op::l2_norm}},
  };
  return all;
}

/// The rate of the best matmul of that operand dtype; f32's for what is multiplied in none of them. 0: not measured.
double peak_gflops(const MachineFacts& facts, const ProfiledStep& step) {
  const MatmulPeak* peak = facts.peak(step.operand);
  if (peak == nullptr) peak = facts.peak(DType::f32);
  if (peak == nullptr) return 0;
  const double product = peak->product_gflops(step.accumulator);
  return product > 0 ? product : peak->instruction_gflops;
}

void add_step(ProfileRow& row, const ProfiledStep& step, const MachineFacts& facts) {
  ++row.calls;
  row.ms += step.ms;
  row.flops += step.flops;
  row.bytes += step.bytes;
  if (const double peak = peak_gflops(facts, step); peak > 0) row.compute_floor_ms += step.flops / peak / 1e6;
  if (facts.bandwidth_gbs > 0) row.memory_floor_ms += step.bytes / facts.bandwidth_gbs / 1e6;
}

AmdahlPart part_of(OperationKind kind, const Profile& before, const Profile& after) {
  AmdahlPart part;
  part.kind = kind;
  for (const ProfiledStep& step : before.steps) {
    if (step.kind != kind) continue;
    ++part.calls_before;
    part.bytes_before += step.bytes;
    part.ms_before += step.ms;
  }
  for (const ProfiledStep& step : after.steps) {
    if (step.kind != kind) continue;
    ++part.calls_after;
    part.bytes_after += step.bytes;
    part.ms_after += step.ms;
  }
  part.share = part.ms_before / before.steps_ms();
  part.part = part.ms_after / before.steps_ms();
  return part;
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// What the parts of unfused attention are called in a trace; empty for any other operation.
std::string attention_range(const ProfiledStep& step) {
  if (step.phase != Phase::forward) return "";
  if (step.operation == op::attention_scores.name) return "computing attention scores";
  if (step.operation == op::softmax.name) return "computing softmax";
  return step.operation == op::attention_context.name ? "final matmul" : "";
}

}  // namespace

const char* name(OperationKind kind) {
  constexpr std::array<const char*, operation_kinds> names = {
      "matmul", "attention", "norm", "activation", "embedding", "casts", "loss", "optimizer", "other"};
  return names[static_cast<std::size_t>(kind)];
}

OperationKind kind_of(const Operation& operation) {
  for (const Kinds& entry : kinds()) {
    if (std::find(entry.operations.begin(), entry.operations.end(), &operation) != entry.operations.end())
      return entry.kind;
  }
  return OperationKind::other;
}

const char* verdict(const ProfileRow& row) {
  if (row.compute_floor_ms <= 0 && row.memory_floor_ms <= 0) return "unknown";
  if (std::max(row.compute_share(), row.memory_share()) < overhead_below) return "overhead-bound";
  return row.compute_floor_ms >= row.memory_floor_ms ? "compute-bound" : "memory-bound";
}

std::vector<ProfileRow> rows_by(const std::vector<ProfiledStep>& steps, const StepName& name,
                                const MachineFacts& facts) {
  std::map<std::string, ProfileRow> rows;
  std::map<std::string, std::set<std::string>> paths;
  for (const ProfiledStep& step : steps) {
    const std::string key = name(step);
    add_step(rows[key], step, facts);
    paths[key].insert(step.path);
  }
  std::vector<ProfileRow> sorted;
  for (auto& [key, row] : rows) {
    row.name = key;
    row.paths = static_cast<std::int64_t>(paths[key].size());
    sorted.push_back(std::move(row));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.ms > b.ms; });
  return sorted;
}

std::string folded(const std::string& path) {
  std::string text;
  for (const std::string& part : components(path)) text += (text.empty() ? "" : ".") + (is_number(part) ? "*" : part);
  return text;
}

std::vector<AmdahlPart> amdahl(const Profile& before, const Profile& after) {
  std::vector<AmdahlPart> parts;
  for (std::size_t kind = 0; kind < operation_kinds; ++kind) {
    const AmdahlPart part = part_of(static_cast<OperationKind>(kind), before, after);
    if (part.calls_before + part.calls_after > 0) parts.push_back(part);
  }
  return parts;
}

std::vector<OperationOnGpu> operations_on_gpu(const Profile& profile) {
  std::map<std::string, OperationOnGpu> rows;
  for (std::size_t i = 0; i < profile.steps.size(); ++i) {
    OperationOnGpu& row = rows[profile.steps[i].operation];
    row.operation = profile.steps[i].operation;
    row.launches += profile.gpu->launches(i);
    row.gpu_ms += profile.gpu->step_ms(i);
    row.clock_ms += profile.steps[i].ms;
  }
  std::vector<OperationOnGpu> sorted;
  for (auto& [operation, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const OperationOnGpu& a, const OperationOnGpu& b) { return a.gpu_ms > b.gpu_ms; });
  return sorted;
}

std::vector<std::string> frames(const ProfiledStep& step) {
  std::vector<std::string> list = {name(step.phase)};
  for (const std::string& part : components(step.path)) {
    if (is_number(part) && list.size() > 1) {
      list.back() += "." + part;
    } else {
      list.push_back(part);
    }
  }
  const std::string range = attention_range(step);
  if (range.empty()) {
    list.push_back(step.operation);
  } else {
    list.pop_back();  // "scores", "softmax", "context"
    list.insert(list.end(), {"scaled dot product attention", range});
  }
  return list;
}

}  // namespace assay
