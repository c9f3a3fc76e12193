#include <cudnn_frontend.h>

#include <map>

#include "base/error.h"
#include "kernels/cuda/host/fused_attention.h"
#include "kernels/cuda/host/toolkit/cudnn_library.h"

// Graphs of one node, scaled dot product attention or its backward, which cuDNN compiles into one or a few kernels.
namespace assay::cuda {
namespace {

namespace fe = cudnn_frontend;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

struct Plan {
  fe::graph::Graph graph;
  std::string name;
  std::int64_t workspace_bytes = 0;
};

fe::DataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return fe::DataType_t::HALF;
    case DType::bf16:
      return fe::DataType_t::BFLOAT16;
    default:
      return fe::DataType_t::FLOAT;
  }
}

void describe(fe::graph::Tensor_attributes& attributes, const FusedShape& shape, FusedRole role) {
  const FusedTensor& tensor = *shape.tensors[place(role)];
  attributes.set_uid(static_cast<std::int64_t>(place(role)) + 1)
      .set_data_type(cudnn_type(tensor.dtype))
      .set_dim({tensor.sizes.begin(), tensor.sizes.end()})
      .set_stride({tensor.strides.begin(), tensor.strides.end()});
}

Tensor input(fe::graph::Graph& graph, const FusedShape& shape, FusedRole role) {
  fe::graph::Tensor_attributes attributes;
  describe(attributes, shape, role);
  return graph.tensor(attributes);
}

void set_output(const Tensor& tensor, const FusedShape& shape, FusedRole role) {
  describe(*tensor, shape, role);
  tensor->set_output(true);
}

/// What both nodes are told: no query sees a key behind it.
template <typename Attributes>
Attributes attributes_of(const FusedShape& shape) {
  Attributes attributes;
  attributes.set_attn_scale(static_cast<float>(shape.scale));
  if (shape.causal) {
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT);
    attributes.set_diagonal_band_right_bound(0);
  }
  return attributes;
}

void add_forward(fe::graph::Graph& graph, const FusedShape& shape) {
  const bool has_statistics = shape.tensors[place(FusedRole::statistics)].has_value();
  auto attributes = attributes_of<fe::graph::SDPA_attributes>(shape);
  attributes.set_name("attention").set_generate_stats(has_statistics);
  const auto [y, statistics] = graph.sdpa(input(graph, shape, FusedRole::q), input(graph, shape, FusedRole::k),
                                          input(graph, shape, FusedRole::v), attributes);
  set_output(y, shape, FusedRole::y);
  if (has_statistics) set_output(statistics, shape, FusedRole::statistics);
}

void add_backward(fe::graph::Graph& graph, const FusedShape& shape) {
  auto attributes = attributes_of<fe::graph::SDPA_backward_attributes>(shape);
  attributes.set_name("attention_gradient").set_deterministic_algorithm(true);
  const auto [dq, dk, dv] =
      graph.sdpa_backward(input(graph, shape, FusedRole::q), input(graph, shape, FusedRole::k),
                          input(graph, shape, FusedRole::v), input(graph, shape, FusedRole::y),
                          input(graph, shape, FusedRole::dy), input(graph, shape, FusedRole::statistics), attributes);
  set_output(dq, shape, FusedRole::dq);
  set_output(dk, shape, FusedRole::dk);
  set_output(dv, shape, FusedRole::dv);
}

/// The heuristic's first plan that adds in f32 and makes the same bits in every run.
fe::error_t choose_plan(Plan& plan) {
  fe::graph::Graph& graph = plan.graph;
  if (fe::error_t fault = graph.validate(); fault.is_bad()) return fault;
  if (fe::error_t fault = graph.build_operation_graph(cudnn().handle); fault.is_bad()) return fault;
  if (fe::error_t fault = graph.create_execution_plans({fe::HeurMode_t::A}); fault.is_bad())
    return {fault.get_code(), "its heuristic proposes nothing"};
  graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC, fe::NumericalNote_t::DOWN_CONVERT_INPUTS,
                                fe::NumericalNote_t::REDUCED_PRECISION_REDUCTION});
  if (fe::error_t fault = graph.check_support(); fault.is_bad()) return fault;
  if (fe::error_t fault = graph.build_plans(); fault.is_bad()) return fault;
  if (fe::error_t fault = graph.get_plan_name(plan.name); fault.is_bad()) return fault;
  return graph.get_workspace_size(plan.workspace_bytes);
}

/// Says in words why there is none.
std::variant<std::shared_ptr<Plan>, Declined> make_plan(const FusedShape& shape) {
  auto plan = std::make_shared<Plan>();
  const DType operand = shape.tensors[place(FusedRole::q)]->dtype;
  plan->graph.set_io_data_type(cudnn_type(operand))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  try {
    if (shape.is_backward()) {
      add_backward(plan->graph, shape);
    } else {
      add_forward(plan->graph, shape);
    }
    fe::error_t fault = choose_plan(*plan);
    if (fault.is_good()) return plan;
    const std::string message = fault.get_message();
    return Declined{fmt::format("version {}: {}", cudnn().version, message.substr(0, message.find('\n')))};
  } catch (const std::runtime_error& fault) {  // The headers' own.
    return Declined{fmt::format("version {}: {}", cudnn().version, fault.what())};
  }
}

/// Layers of one shape share a plan: making one compiles code. Never destroyed: the driver may be gone before this
/// process's statics are.
std::variant<std::shared_ptr<Plan>, Declined> plan_of(const FusedShape& shape) {
  static auto& made = *new std::map<std::string, std::variant<std::shared_ptr<Plan>, Declined>>;
  const auto known = made.find(shape.key());
  return known != made.end() ? known->second : made.emplace(shape.key(), make_plan(shape)).first->second;
}

void run(const Plan& plan, const FusedMemory& memory) {
  std::unordered_map<std::int64_t, void*> addresses;
  for (std::size_t i = 0; i < fused_roles; ++i) {
    if (memory.at[i] != nullptr) addresses.emplace(static_cast<std::int64_t>(i) + 1, memory.at[i]);
  }
  fe::error_t fault = plan.graph.execute(cudnn().handle, addresses, memory.workspace);
  if (fault.is_bad()) throw Error(ExitCode::defect, fmt::format("cudnn: {}: {}", plan.name, fault.get_message()));
}

}  // namespace

std::variant<FusedAttention, Declined> make_fused_attention(const FusedShape& shape) {
  if (!cudnn().fault.empty()) return Declined{cudnn().fault};
  auto made = plan_of(shape);
  if (auto* declined = std::get_if<Declined>(&made)) return *declined;
  const auto plan = std::get<std::shared_ptr<Plan>>(made);
  return FusedAttention{[plan](const FusedMemory& memory) { run(*plan, memory); },
                        static_cast<std::size_t>(plan->workspace_bytes),
                        fmt::format("cuDNN {}, plan {}, f32 softmax and sums", cudnn().version, plan->name)};
}

}  // namespace assay::cuda
