#include "hardware/isa_cap.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <initializer_list>

#include "base/error.h"

namespace assay {
namespace {

constexpr InstructionSets baseline{};
constexpr InstructionSets avx2{.avx2 = true};
constexpr InstructionSets avx_vnni{.avx2 = true, .avx_vnni = true};
constexpr InstructionSets avx512{.avx2 = true, .avx512 = true};
constexpr InstructionSets vnni{.avx2 = true, .avx_vnni = true, .avx512 = true, .avx512_vnni = true};
constexpr InstructionSets bf16{
    .avx2 = true, .avx_vnni = true, .avx512 = true, .avx512_vnni = true, .avx512_bf16 = true};
constexpr InstructionSets fp16{
    .avx2 = true, .avx_vnni = true, .avx512 = true, .avx512_vnni = true, .avx512_bf16 = true, .avx512_fp16 = true};
constexpr InstructionSets all{.avx2 = true,
                              .avx_vnni = true,
                              .avx512 = true,
                              .avx512_vnni = true,
                              .avx512_bf16 = true,
                              .avx512_fp16 = true,
                              .amx_tile = true,
                              .amx_bf16 = true,
                              .amx_int8 = true};

constexpr InstructionSets all_without(std::initializer_list<bool InstructionSets::*> members) {
  InstructionSets isa = all;
  for (bool InstructionSets::*member : members) isa.*member = false;
  return isa;
}

using Sets = InstructionSets;
constexpr IsaCap caps[] = {
    {"baseline", baseline, "plain x86-64, no vector sets of ours"},
    {"avx2", avx2, "AVX2 with FMA and F16C"},
    {"avx-vnni", avx_vnni, "and 8-bit dot products in its registers (AVX-VNNI)"},
    {"avx512", avx512, "AVX2 and AVX-512 F, BW, DQ, VL"},
    {"vnni", vnni, "and 8-bit dot products (AVX512-VNNI)"},
    {"bf16", bf16, "and bf16 dot products (AVX512-BF16)"},
    {"fp16", fp16, "and f16 arithmetic (AVX512-FP16)"},
    {"amx", all, "and AMX tiles: everything, no cap"},
    {"no-vnni", all_without({&Sets::avx512_vnni, &Sets::avx_vnni}), "everything but VNNI, of AVX-512 and of AVX2"},
    {"no-int8", all_without({&Sets::avx512_vnni, &Sets::avx_vnni, &Sets::amx_int8}), "everything but 8-bit products"},
    {"no-bf16", all_without({&Sets::avx512_bf16, &Sets::amx_bf16}), "everything but bf16 products"},
    {"no-fp16", all_without({&Sets::avx512_fp16}), "everything but f16 arithmetic"},
    {"no-amx", fp16, "everything but AMX"},
};

struct NamedSet {
  const char* name;
  bool InstructionSets::*member;
};
constexpr NamedSet sets[] = {{"avx2", &Sets::avx2},
                             {"avx_vnni", &Sets::avx_vnni},
                             {"avx512", &Sets::avx512},
                             {"avx512_vnni", &Sets::avx512_vnni},
                             {"avx512_bf16", &Sets::avx512_bf16},
                             {"avx512_fp16", &Sets::avx512_fp16},
                             {"amx_tile", &Sets::amx_tile},
                             {"amx_bf16", &Sets::amx_bf16},
                             {"amx_int8", &Sets::amx_int8}};

}  // namespace

std::span<const IsaCap> isa_caps() {
  return caps;
}

const IsaCap& find_isa_cap(std::string_view name) {
  std::string names;
  for (const IsaCap& cap : caps) {
    if (cap.name == name) return cap;
    names += names.empty() ? "" : ", ";
    names += cap.name;
  }
  fail_user("instruction set cap '{}': unknown; choose one of {}", name, names);
}

InstructionSets operator&(const InstructionSets& a, const InstructionSets& b) {
  InstructionSets both;
  for (const NamedSet& set : sets) both.*set.member = a.*set.member && b.*set.member;
  return both;
}

std::vector<std::string> isa_names(const InstructionSets& isa) {
  std::vector<std::string> names;
  for (const NamedSet& set : sets) {
    if (isa.*set.member) names.push_back(set.name);
  }
  return names;
}

std::string to_string(const InstructionSets& isa) {
  const std::vector<std::string> names = isa_names(isa);
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
}

std::string requested_isa_cap(const std::string& option) {
  const char* variable = std::getenv(isa_cap_variable);
  const std::string cap = !option.empty() ? option : variable ? variable : "";
  if (cap.empty()) return {};
  return &find_isa_cap(cap).allowed == &find_isa_cap("amx").allowed ? "" : cap;
}

}  // namespace assay
