#include "tensor/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"

namespace assay {
namespace {

constexpr const char* role_names[] = {"embedding", "attention", "mlp",       "norm", "softmax",
                                      "head",      "loss",      "optimizer", "other"};

using enum DType;

// Tolerances: what rounding of operands and stored activations costs over some tens of layers, with room to spare;
// a wrong kernel (a lost head, a wrong mask) shows differences of 1 and more. fp32's only covers the order of sums.
// `activations`, `output` and int8-weights' `operand` of the native_16bit rows are what holds without a native
// 16-bit type; choose_precision settles them.
// fp16-acc16 adds 64 products in f16 before the flush: the error of such a sum stays under 64 * 2^-11 = 3 % of its
// largest partial sum, and the flush costs one conversion in 64 multiply-adds.
constexpr Precision table[] = {
    {.name = "fp32", .weights = f32, .activations = f32, .rule = Activations::as_stored, .operand = f32,
     .accumulator = f32, .output = f32, .math = f32, .gradients = f32, .master_weights = false, .scheme = Scheme::none,
     .chunk = 0, .cuda_only = false, .tolerance = 2e-5, .note = "strict: no TF32, no implicit bf16"},
    {.name = "tf32", .weights = f32, .activations = f32, .rule = Activations::as_stored, .operand = tf32,
     .accumulator = f32, .output = f32, .math = f32, .gradients = f32, .master_weights = false, .scheme = Scheme::none,
     .chunk = 0, .cuda_only = true, .tolerance = 5e-3, .note = "CUDA sm_80 and newer only"},
    {.name = "fp16", .weights = f16, .activations = f16, .rule = Activations::as_stored, .operand = f16,
     .accumulator = f32, .output = f16, .math = f32, .gradients = f16, .master_weights = false, .scheme = Scheme::none,
     .chunk = 0, .cuda_only = false, .tolerance = 1e-2, .note = "stored in 16 bits; norms and softmax computed in f32"},
    {.name = "bf16", .weights = bf16, .activations = bf16, .rule = Activations::as_stored, .operand = bf16,
     .accumulator = f32, .output = bf16, .math = f32, .gradients = bf16, .master_weights = false,
     .scheme = Scheme::none, .chunk = 0, .cuda_only = false, .tolerance = 5e-2,
     .note = "stored in 16 bits; norms and softmax computed in f32"},
    {.name = "mixed-fp16", .weights = f32, .activations = f32, .rule = Activations::autocast_lists, .operand = f16,
     .accumulator = f32, .output = f16, .math = f32, .gradients = f32, .master_weights = true, .scheme = Scheme::none,
     .chunk = 0, .cuda_only = false, .tolerance = 1e-2, .note = "f32 weights kept; dynamic loss scaling in training"},
    {.name = "mixed-bf16", .weights = f32, .activations = f32, .rule = Activations::autocast_lists, .operand = bf16,
     .accumulator = f32, .output = bf16, .math = f32, .gradients = f32, .master_weights = true,
     .scheme = Scheme::none, .chunk = 0, .cuda_only = false, .tolerance = 5e-2,
     .note = "f32 weights kept; no loss scaling"},
    {.name = "fp16-acc16", .weights = f16, .activations = f16, .rule = Activations::as_stored, .operand = f16,
     .accumulator = f16, .output = f16, .math = f32, .gradients = std::nullopt, .master_weights = false,
     .scheme = Scheme::none, .chunk = 64, .cuda_only = false, .tolerance = 5e-2,
     .note = "sums 64 products in f16, then flushes to f32"},
    {.name = "int8", .weights = s8, .activations = f32, .rule = Activations::native_16bit, .operand = s8,
     .accumulator = s32, .output = f32, .math = f32, .gradients = std::nullopt, .master_weights = false,
     .scheme = Scheme::dynamic_int8, .chunk = 0, .cuda_only = false, .tolerance = 2.5e-1,
     .note = "every linear layer, the head included; s8 weights per channel, activations per token"},
    {.name = "int8-weights", .weights = s8, .activations = f32, .rule = Activations::native_16bit, .operand = f32,
     .accumulator = f32, .output = f32, .math = f32, .gradients = std::nullopt, .master_weights = false,
     .scheme = Scheme::weight_only_int8, .chunk = 0, .cuda_only = false, .tolerance = 1e-1,
     .note = "weight only: dequantised on the fly, no integer arithmetic"},
    {.name = "fp8", .weights = e4m3, .activations = bf16, .rule = Activations::as_stored, .operand = e4m3,
     .accumulator = f32, .output = bf16, .math = f32, .gradients = std::nullopt, .master_weights = false,
     .scheme = Scheme::float8, .chunk = 0, .cuda_only = true, .tolerance = 3e-1, .note = "CUDA sm_89 and newer only"},
};

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < std::size(table); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::string_view(table[i].name) == table[j].name) return false;
    }
  }
  return true;
}
static_assert(names_are_unique(), "a precision is found by its name");

std::vector<const char*> precision_names() {
  std::vector<const char*> names;
  for (const Precision& row : table) names.push_back(row.name);
  return names;
}

RoleOverride parse_override(std::string_view part) {
  const auto equals = part.find('=');
  if (equals == std::string_view::npos) fail_user("--with '{}': role=dtype is needed, such as norm=f16", part);
  const auto role = parse_role(part.substr(0, equals));
  if (!role) {
    fail_user("--with '{}': no role '{}'; the roles are {}", part, part.substr(0, equals), fmt::join(role_names, ", "));
  }
  const auto dtype = parse_dtype(part.substr(equals + 1));
  if (!dtype || (*dtype != f32 && *dtype != f16 && *dtype != bf16)) {
    fail_user("--with '{}': a role can be f32, f16 or bf16, not '{}'", part, part.substr(equals + 1));
  }
  return {*role, *dtype};
}

/// Sorted by role, so that one choice has one name however it was written.
std::vector<RoleOverride> parse_overrides(std::string_view list) {
  std::vector<RoleOverride> overrides;
  if (list.empty()) return overrides;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const RoleOverride next = parse_override(list.substr(begin, end - begin));
    if (std::ranges::find(overrides, next.role, &RoleOverride::role) != overrides.end()) {
      fail_user("--with '{}': the role '{}' stands twice", list, name(next.role));
    }
    overrides.push_back(next);
    begin = end + 1;
  }
  std::ranges::sort(overrides, {}, &RoleOverride::role);
  return overrides;
}

Precision settled(Precision row, std::optional<DType> native16) {
  if (row.rule != Activations::native_16bit) return row;
  row.activations = row.output = native16.value_or(f32);
  if (row.scheme == Scheme::weight_only_int8) row.operand = row.activations;
  row.rule = Activations::as_stored;
  return row;
}

}  // namespace

const char* name(Role role) {
  const auto index = static_cast<std::size_t>(role);
  ASSAY_ASSERT(index < std::size(role_names));
  return role_names[index];
}

std::optional<Role> parse_role(std::string_view text) {
  const auto* found = std::ranges::find(role_names, text);
  if (found == std::end(role_names)) return std::nullopt;
  return static_cast<Role>(found - role_names);
}

std::span<const Precision> precision_table() {
  return table;
}

const Precision& find_precision(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Precision::name);
  if (found == std::end(table)) {
    fail_user("precision '{}': is not known; the precisions are {}", name, fmt::join(precision_names(), ", "));
  }
  return *found;
}

std::string PrecisionChoice::name() const {
  if (overrides.empty()) return row.name;
  std::vector<std::string> parts;
  for (const RoleOverride& one : overrides) {
    parts.push_back(fmt::format("{}={}", assay::name(one.role), assay::name(one.dtype)));
  }
  return fmt::format("{}[{}]", row.name, fmt::join(parts, ","));
}

std::optional<DType> PrecisionChoice::override_for(Role role) const {
  const auto found = std::ranges::find(overrides, role, &RoleOverride::role);
  if (found == overrides.end()) return std::nullopt;
  return found->dtype;
}

PrecisionChoice choose_precision(std::string_view name, std::string_view overrides, std::optional<DType> native16) {
  return {settled(find_precision(name), native16), parse_overrides(overrides)};
}

}  // namespace assay
