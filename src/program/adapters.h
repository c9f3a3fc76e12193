#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace assay {

/// A low-rank adapter beside one linear layer (Hu et al. 2021):
///
///   y = x W^T + b + scale B(A(dropout(x)))    A: (rank, in), B: (out, rank)
struct Adapter {
  std::string module;  ///< Its weight's name without ".weight": "h.0.attn.c_attn".
  std::int64_t rank = 0;
  double scale = 1;

  bool operator==(const Adapter&) const = default;
};

/// Names of an adapter's weights: "h.0.attn.c_attn.lora_A.weight".
std::string adapter_a(const std::string& module);
std::string adapter_b(const std::string& module);
bool is_adapter_weight(std::string_view name);
/// The module that such a weight stands beside.
std::string adapted_module(const std::string& weight);

/// Modules that can have an adapter: weights that linear layers alone read. In the program's order.
std::vector<std::string> adaptable_modules(const Program& program);

/// The program, as build_program makes it, with those adapters. The scale multiplies what A gives, which is narrow.
/// With a dropout rate there are the inputs that dropout has (build_program). Throws a defect for a module that the
/// program does not have.
Program with_adapters(const Program& program, const std::vector<Adapter>& adapters, double dropout);

}  // namespace assay
