#include "results/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/hash.h"
#include "results/fields.h"

namespace assay {
namespace {

constexpr IdentityField identity[] = {
    {"model", Aspect::subject},     {"weights", Aspect::subject},      {"parameters", Aspect::subject},
    {"precision", Aspect::subject}, {"device", Aspect::subject},       {"batch", Aspect::subject},
    {"seq", Aspect::subject},       {"threads", Aspect::subject},      {"logits", Aspect::subject},
    {"fusion", Aspect::subject},    {"casts", Aspect::subject},        {"seed", Aspect::subject},
    {"mode", Aspect::subject},      {"recompute", Aspect::subject},    {"warmup_steps", Aspect::subject},
    {"command", Aspect::subject},   {"phase", Aspect::subject},        {"machine", Aspect::place},
    {"build", Aspect::place},       {"graphs", Aspect::subject, true}, {"caches", Aspect::subject, true},
};

/// The hash of a checkpoint says more than the name under which it was found. The threads of a measured program are no
/// setting but what it was seen to use.
bool counts(const IdentityField& field, const Record& record) {
  const Field& member = record_field(field.name);
  if (field.is_younger && to_text(member, record) == to_text(member, Record{})) return false;
  if (std::string_view(field.name) == "threads") return record.mode != "program" && record.mode != "phase";
  return std::string_view(field.name) != "model" || !record.weights.starts_with("sha256:");
}

std::string key(const Record& record, std::span<const Aspect> aspects) {
  std::string text;
  for (const IdentityField& field : identity) {
    const bool asked = std::find(aspects.begin(), aspects.end(), field.aspect) != aspects.end();
    if (!asked || !counts(field, record)) continue;
    const std::string value = to_text(record_field(field.name), record);
    text += fmt::format("{}={}:{}\n", field.name, value.size(), value);  // The length keeps values apart.
  }
  return sha256_hex(std::as_bytes(std::span(text))).substr(0, 32);
}

/// Fields that are named only where they differ from those of a blank record.
constexpr const char* unusual[] = {"logits",       "fusion",  "casts", "mode",  "recompute",
                                   "warmup_steps", "command", "phase", "caches"};

}  // namespace

std::span<const IdentityField> identity_fields() {
  return identity;
}

std::string subject_key(const Record& record) {
  constexpr Aspect aspects[] = {Aspect::subject};
  return key(record, aspects);
}

std::string identity_key(const Record& record) {
  constexpr Aspect aspects[] = {Aspect::subject, Aspect::place};
  return key(record, aspects);
}

std::string subject_words(const Record& record) {
  std::string text =
      fmt::format("{}, {}, {}, {} x {}", record.model, record.precision, record.device, record.batch, record.seq);
  for (const char* name : unusual) {
    const std::string value = to_text(record_field(name), record);
    if (value != to_text(record_field(name), Record{})) text += fmt::format(", {} {}", name, value);
  }
  return text;
}

std::string identity_difference(const Record& a, const Record& b, Aspect aspect) {
  std::string text;
  for (const IdentityField& field : identity) {
    if (field.aspect != aspect) continue;
    const std::string one = to_text(record_field(field.name), a);
    const std::string other = to_text(record_field(field.name), b);
    if (one != other) text += fmt::format("{}{} {} and {}", text.empty() ? "" : "; ", field.name, one, other);
  }
  return text;
}

}  // namespace assay
