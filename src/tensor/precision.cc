#include "tensor/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "tensor/block_format.h"

namespace assay {
namespace {

constexpr const char* role_names[] = {"embedding", "attention", "mlp",  "norm",      "softmax",
                                      "head",      "kv",        "loss", "optimizer", "other"};

/// Roles whose operations have a dtype that can be replaced; the optimizer's and the loss's are the row's own.
constexpr Role overridable[] = {Role::embedding, Role::attention, Role::mlp, Role::norm,
                                Role::softmax,   Role::head,      Role::kv};

/// Keys and values can be kept in 8 bits too, with a scale a token and head.
bool can_be(Role role, DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || (role == Role::kv && dtype == DType::s8);
}

using enum DType;
using enum Runs;

// Tolerances: what rounding of operands and stored activations costs over some tens of layers, with room to spare;
// a wrong kernel (a lost head, a wrong mask) shows differences of 1 and more. fp32's only covers the order of sums.
// `activations`, `output` and int8-weights' `operand` of the native_16bit rows are what holds without a native
// 16-bit type; choose_precision settles them.
// Scales of mixed-fp8 are powers of two, which leaves e4m3 up to a bit less of its range than fp8's scales do.
// Four bits lose most of a model as small and random as those of the tests: what holds their kernels is the contract.
// fp16-acc16 adds 64 products in f16 before the flush: the error of such a sum stays under 64 * 2^-11 = 3 % of its
// largest partial sum, and the flush costs one conversion in 64 multiply-adds.
// clang-format off
constexpr auto stored = Activations::as_stored;
constexpr auto autocast = Activations::autocast_lists;
constexpr auto native = Activations::native_16bit;
constexpr std::nullopt_t none = std::nullopt;
constexpr Precision table[] = {
    // name         weights acts  rule      operand sums  output math gradients masters
    //   scheme, chunk, runs, tolerance, note
    {"fp32",         f32,  f32,  stored,   f32,    f32,  f32,   f32, f32,      false,
     Scheme::none, 0, anywhere, 2e-5, "strict: no TF32, no implicit bf16"},
    {"tf32",         f32,  f32,  stored,   tf32,   f32,  f32,   f32, f32,      false,
     Scheme::none, 0, on_cuda, 5e-3, "CUDA sm_80 and newer only"},
    {"fp16",         f16,  f16,  stored,   f16,    f32,  f16,   f32, f16,      false,
     Scheme::none, 0, anywhere, 1e-2, "stored in 16 bits; norms and softmax computed in f32"},
    {"bf16",         bf16, bf16, stored,   bf16,   f32,  bf16,  f32, bf16,     false,
     Scheme::none, 0, anywhere, 5e-2, "stored in 16 bits; norms and softmax computed in f32"},
    {"mixed-fp16",   f32,  f32,  autocast, f16,    f32,  f16,   f32, f32,      true,
     Scheme::none, 0, anywhere, 1e-2, "f32 weights kept; dynamic loss scaling in training"},
    {"mixed-bf16",   f32,  f32,  autocast, bf16,   f32,  bf16,  f32, f32,      true,
     Scheme::none, 0, anywhere, 5e-2, "f32 weights kept; no loss scaling"},
    {"fp16-acc16",   f16,  f16,  stored,   f16,    f16,  f16,   f32, none,     false,
     Scheme::none, 64, anywhere, 5e-2, "sums 64 products in f16, then flushes to f32"},
    {"int8",         s8,   f32,  native,   s8,     s32,  f32,   f32, none,     false,
     Scheme::dynamic_int8, 0, anywhere, 2.5e-1, "every linear layer, the head included; weights per channel, activations per token"},
    {"int8-static",  s8,   f32,  native,   s8,     s32,  f32,   f32, none,     false,
     Scheme::static_int8, 0, by_name, 2.5e-1, "as int8, activations by scales that calibration data gave; experts as int8"},
    {"int8-weights", s8,   f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_int8, 0, anywhere, 1e-1, "weight only: dequantised on the fly, no integer arithmetic"},
    {"int8-group",   u8,   f32,  native,   s8,     s32,  f32,   f32, none,     false,
     Scheme::dynamic_blocks, 0, anywhere, 2e-1, "as int8 with a scale for 32 inputs on both sides, as Q8_0 is multiplied",
     &blocks::q8_0},
    {"int4-weights", u8,   f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 9.5e-1, "weight only: 4 bits, a scale for 32 inputs; dequantised on the fly",
     &blocks::q4_0},
    {"int4-weights-g128", u8, f32, native, f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 9.5e-1, "weight only: 4 bits, a scale for 128 inputs",
     &blocks::int4_g128},
    {"int4-weights-zp", u8, f32, native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 9.5e-1, "weight only: 4 bits, a scale and a zero point for 128 inputs",
     &blocks::int4z_g128},
    {"int4-weights-min", u8, f32, native,  f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 9.5e-1, "weight only: 4 bits, a scale and a minimum for 32 inputs (Q4_1)",
     &blocks::q4_1},
    {"int4-weights-k", u8, f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 9.5e-1, "weight only: 4 bits, a scale and a minimum of 6 bits for 32 inputs, by 256 (Q4_K)",
     &blocks::q4_k},
    {"int5-weights-k", u8, f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 5e-1, "weight only: 5 bits, scales and minima as int4-weights-k (Q5_K)",
     &blocks::q5_k},
    {"int6-weights-k", u8, f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::weight_only_blocks, 0, anywhere, 3e-1, "weight only: 6 bits, a scale of 8 bits for 16 inputs, by 256 (Q6_K)",
     &blocks::q6_k},
    {"int4",         u8,   f32,  native,   s8,     s32,  f32,   f32, none,     false,
     Scheme::dynamic_blocks, 0, anywhere, 9.5e-1, "weights of int4-weights, activations s8 by 32 inputs: integer sums a group",
     &blocks::q4_0},
    {"fp8",          e4m3, bf16, stored,   e4m3,   f32,  bf16,  f32, none,     false,
     Scheme::float8, 0, by_name_off_cuda, 3e-1, "as int8, in e4m3; native on CUDA sm_89 and newer, emulated elsewhere"},
    {"mixed-fp8",    f32,  f32,  autocast, bf16,   f32,  bf16,  f32, f32,      true,
     Scheme::none, 0, by_name, 4.5e-1, "as mixed-bf16; linear layers multiply e4m3 and e5m2 by a scale a tensor: native on CUDA sm_89 and newer, emulated elsewhere",
     nullptr, Float8Training::delayed},
    {"mixed-fp8-block", f32, f32, autocast, bf16,  f32,  bf16,  f32, f32,      true,
     Scheme::none, 0, by_name, 4.5e-1, "as mixed-fp8 by scales of blocks of 128: emulated",
     nullptr, Float8Training::blocks},
    {"stored",       f32,  f32,  native,   f32,    f32,  f32,   f32, none,     false,
     Scheme::as_stored, 0, by_name, 5e-2, "weights as the file holds them, blocks kept in memory and widened as they are multiplied"},
    {"stored-int8",  f32,  f32,  native,   s8,     s32,  f32,   f32, none,     false,
     Scheme::stored_dynamic, 0, by_name, 2e-1, "as stored, but blocks are multiplied by activations of s8 in integers"},
};
// clang-format on

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < std::size(table); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (std::string_view(table[i].name) == table[j].name) return false;
    }
  }
  return true;
}
static_assert(names_are_unique(), "a precision is found by its name");

struct OtherPrecisionName {
  std::string_view other;  ///< In small letters, '-' for '_'.
  std::string_view own;    ///< The table's name, or why it has none.
};
constexpr OtherPrecisionName other_precision_names[] = {
    {"float32", "fp32"},
    {"f32", "fp32"},
    {"float", "fp32"},
    {"single", "fp32"},
    {"float16", "fp16"},
    {"f16", "fp16"},
    {"half", "fp16"},
    {"bfloat16", "bf16"},
    {"tfloat32", "tf32"},
    {"tensorfloat32", "tf32"},
    {"w8a8", "int8"},
    {"i8", "int8"},
    {"s8", "int8"},
    {"w8a16", "int8-weights"},
    {"int8-weight-only", "int8-weights"},
    {"weight-only-int8", "int8-weights"},
    {"w4a16", "int4-weights"},
    {"int4-weight-only", "int4-weights"},
    {"weight-only-int4", "int4-weights"},
    {"q4-0", "int4"},
    {"q4-1", "int4-weights-min"},
    {"q4-k", "int4-weights-k"},
    {"q5-k", "int5-weights-k"},
    {"q6-k", "int6-weights-k"},
    {"w4a8", "int4"},
    {"i4", "int4"},
    {"s4", "int4"},
    {"q8-0", "int8-group"},
    {"float8", "fp8"},
    {"e4m3", "fp8"},
    {"fp8-e4m3", "fp8"},
    {"float8-e4m3fn", "fp8"},
    {"amp-fp16", "mixed-fp16"},
    {"amp-bf16", "mixed-bf16"},
    {"mixed-float16", "mixed-fp16"},
    {"mixed-bfloat16", "mixed-bf16"},
};
constexpr std::string_view which_mixed = "mixed-bf16 or mixed-fp16 says which";
constexpr std::string_view which_four_bits =
    "int4 (w4a8) or int4-weights (w4a16) says which, and 'stored' runs files of 4 bits";
constexpr std::string_view four_bits_of_files =
    "comes from files alone, which 'stored' runs; int4-weights makes 4 bits";
constexpr OtherPrecisionName absent_precisions[] = {
    {"mixed", which_mixed},  {"amp", which_mixed},        {"autocast", which_mixed},   {"4bit", which_four_bits},
    {"q4", which_four_bits}, {"nf4", four_bits_of_files}, {"fp4", four_bits_of_files},
};

std::string folded_precision_name(std::string_view name) {
  std::string folded(name);
  for (char& c : folded) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

std::vector<const char*> precision_names() {
  std::vector<const char*> names;
  for (const Precision& row : table) names.push_back(row.name);
  return names;
}

std::vector<const char*> overridable_names() {
  std::vector<const char*> names;
  for (const Role role : overridable) names.push_back(name(role));
  return names;
}

/// Whether what stands before '=' names layers rather than a role whose dtype is replaced.
bool names_layers(std::string_view left) {
  return left.find_first_of(".*@") != std::string_view::npos;
}

/// `*` in the pattern stands for any characters, also none.
bool matches_pattern(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t taken = 0;
  std::size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      taken = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      i = ++taken;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

RoleOverride parse_override(std::string_view part) {
  const auto equals = part.find('=');
  if (equals == std::string_view::npos) fail_user("--with '{}': role=dtype is needed, such as norm=f16", part);
  const auto role = parse_role(part.substr(0, equals));
  if (!role || std::ranges::find(overridable, *role) == std::end(overridable)) {
    fail_user("--with '{}': {} '{}'; the roles that can have a dtype are {}", part,
              role ? "nothing to replace in the role" : "no role", part.substr(0, equals),
              fmt::join(overridable_names(), ", "));
  }
  const auto dtype = parse_dtype(part.substr(equals + 1));
  if (!dtype || !can_be(*role, *dtype)) {
    fail_user("--with '{}': {} can be f32, f16 or bf16{}, not '{}'", part, name(*role),
              can_be(*role, s8) ? " or s8" : "", part.substr(equals + 1));
  }
  return {*role, *dtype};
}

Precision settled(Precision row, std::optional<DType> native16) {
  if (row.rule != Activations::native_16bit) return row;
  row.activations = row.output = native16.value_or(f32);
  if (widens_weights(row.scheme)) row.operand = row.activations;
  row.rule = Activations::as_stored;
  return row;
}

LayerOverride parse_layer_override(std::string_view part, std::optional<DType> native16) {
  const auto equals = part.find('=');
  const std::string_view left = part.substr(0, equals);
  const std::string_view right = equals == std::string_view::npos ? "" : part.substr(equals + 1);
  if (left.starts_with('@') && !parse_role(left.substr(1))) {
    fail_user("--with '{}': no role '{}'; the roles are {}", part, left.substr(1), fmt::join(role_names, ", "));
  }
  if (std::ranges::find(table, right, &Precision::name) == std::end(table)) {
    fail_user("--with '{}': layers can be in a precision ({}), not '{}'", part, fmt::join(precision_names(), ", "),
              right);
  }
  return {std::string(left), settled(find_precision(right), native16)};
}

/// Roles are sorted, so that one choice has one name however it was written; layers stay in order, for the last
/// decides.
void parse_overrides(std::string_view list, std::optional<DType> native16, PrecisionChoice& choice) {
  if (list.empty()) return;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view part = list.substr(begin, end - begin);
    begin = end + 1;
    if (names_layers(part.substr(0, part.find('=')))) {
      choice.layers.push_back(parse_layer_override(part, native16));
      continue;
    }
    const RoleOverride next = parse_override(part);
    if (choice.override_for(next.role)) fail_user("--with '{}': the role '{}' stands twice", list, name(next.role));
    choice.overrides.push_back(next);
  }
  std::ranges::sort(choice.overrides, {}, &RoleOverride::role);
}

std::string bracketed(const char* row, const std::vector<std::string>& parts) {
  return parts.empty() ? row : fmt::format("{}[{}]", row, fmt::join(parts, ","));
}

std::vector<std::string> role_parts(const PrecisionChoice& choice) {
  std::vector<std::string> parts;
  parts.reserve(choice.overrides.size() + choice.layers.size());
  for (const RoleOverride& one : choice.overrides)
    parts.push_back(fmt::format("{}={}", assay::name(one.role), assay::name(one.dtype)));
  return parts;
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
  if (found != std::end(table)) return *found;
  if (const std::string own = own_precision_name(name); own != name)
    fail_user("precision '{}': is called {} here", name, own);
  const std::string folded = folded_precision_name(name);
  const auto* absent = std::ranges::find(absent_precisions, folded, &OtherPrecisionName::other);
  if (absent != std::end(absent_precisions)) fail_user("precision '{}': {}", name, absent->own);
  fail_user("precision '{}': is not known; the precisions are {}", name, fmt::join(precision_names(), ", "));
}

std::string own_precision_name(std::string_view name) {
  const std::string folded = folded_precision_name(name);
  if (std::ranges::find(table, folded, &Precision::name) != std::end(table)) return folded;
  const auto* other = std::ranges::find(other_precision_names, folded, &OtherPrecisionName::other);
  return other != std::end(other_precision_names) ? std::string(other->own) : std::string(name);
}

bool runs_on(const Precision& row, std::string_view device) {
  return row.runs != on_cuda || device == "cuda";
}

bool is_listed_on(const Precision& row, std::string_view device) {
  return row.runs != by_name && (row.runs != by_name_off_cuda || device == "cuda");
}

std::string PrecisionChoice::name() const {
  std::vector<std::string> parts = role_parts(*this);
  for (const LayerOverride& one : layers) parts.push_back(fmt::format("{}={}", one.pattern, one.row.name));
  return bracketed(row.name, parts);
}

std::string PrecisionChoice::rest_name() const {
  return bracketed(row.name, role_parts(*this));
}

bool LayerOverride::matches(std::string_view path, Role role) const {
  if (pattern.starts_with('@')) return std::string_view(pattern).substr(1) == assay::name(role);
  return matches_pattern(pattern, path);
}

const LayerOverride* PrecisionChoice::layer_override(std::string_view path, Role role) const {
  const auto found = std::find_if(layers.rbegin(), layers.rend(),
                                  [&](const LayerOverride& layer) { return layer.matches(path, role); });
  return found == layers.rend() ? nullptr : &*found;
}

std::optional<DType> PrecisionChoice::override_for(Role role) const {
  const auto found = std::ranges::find(overrides, role, &RoleOverride::role);
  if (found == overrides.end()) return std::nullopt;
  return found->dtype;
}

PrecisionChoice choose_precision(std::string_view name, std::string_view overrides, std::optional<DType> native16) {
  PrecisionChoice choice{settled(find_precision(name), native16), {}};
  parse_overrides(overrides, native16, choice);
  return choice;
}

}  // namespace assay
