#include "results/identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/hash.h"
#include "results/fields.h"

namespace assay {
namespace {

template <auto member>
constexpr bool agree(const Setting& a, const Setting& b) {
  return a.*member == b.*member;
}

#define ASSAY_SETTING(member, aspect, level, mention, ...) \
  {#member, Aspect::aspect, Level::level, Mention::mention, agree<&Setting::member> __VA_OPT__(, ) __VA_ARGS__}

constexpr bool younger = true;

constexpr SettingField settings[] = {
    ASSAY_SETTING(model, subject, title, otherwise),
    ASSAY_SETTING(weights, subject, title, otherwise),
    ASSAY_SETTING(parameters, subject, row, otherwise),
    ASSAY_SETTING(precision, subject, row, otherwise),
    ASSAY_SETTING(device, subject, title, otherwise),
    ASSAY_SETTING(batch, subject, cell, otherwise),
    ASSAY_SETTING(seq, subject, cell, otherwise),
    ASSAY_SETTING(threads, subject, title, otherwise),
    ASSAY_SETTING(logits, subject, title, where_unusual),
    ASSAY_SETTING(fusion, subject, title, where_unusual),
    ASSAY_SETTING(casts, subject, title, where_unusual),
    ASSAY_SETTING(seed, subject, row, otherwise),
    ASSAY_SETTING(mode, subject, title, where_unusual),
    ASSAY_SETTING(recompute, subject, title, where_unusual),
    ASSAY_SETTING(warmup_steps, subject, title, where_unusual),
    ASSAY_SETTING(command, subject, row, where_unusual),
    ASSAY_SETTING(phase, subject, title, where_unusual),
    ASSAY_SETTING(machine, place, row, otherwise),
    ASSAY_SETTING(build, place, row, otherwise),
    ASSAY_SETTING(graphs, subject, title, otherwise, younger),
    ASSAY_SETTING(caches, subject, title, where_unusual, younger),
    ASSAY_SETTING(stored_dtype, remark, row, otherwise),
    ASSAY_SETTING(baseline, remark, row, otherwise),
};

#undef ASSAY_SETTING

/// The hash of a checkpoint says more than the name under which it was found. The threads of a measured program are no
/// setting but what it was seen to use.
bool counts(const SettingField& field, const Record& record) {
  if (field.is_younger && field.agree(record.setting, Setting{})) return false;
  if (std::string_view(field.name) == "threads") return !is_of_program(record.setting.mode);
  return std::string_view(field.name) != "model" || !record.setting.weights.starts_with("sha256:");
}

std::string key(const Record& record, std::span<const Aspect> aspects) {
  std::string text;
  for (const SettingField& field : settings) {
    const bool asked = std::find(aspects.begin(), aspects.end(), field.aspect) != aspects.end();
    if (!asked || !counts(field, record)) continue;
    const std::string value = to_text(record_field(field.name), record);
    text += fmt::format("{}={}:{}\n", field.name, value.size(), value);  // The length keeps values apart.
  }
  return sha256_hex(std::as_bytes(std::span(text))).substr(0, 32);
}

}  // namespace

std::span<const SettingField> setting_fields() {
  return settings;
}

bool stand_together(const Setting& a, const Setting& b, Level level) {
  return std::all_of(std::begin(settings), std::end(settings),
                     [&](const SettingField& field) { return field.level > level || field.agree(a, b); });
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
  const Setting& setting = record.setting;
  std::string text =
      fmt::format("{}, {}, {}, {} x {}", setting.model, setting.precision, setting.device, setting.batch, setting.seq);
  for (const SettingField& field : settings) {
    if (field.mention != Mention::where_unusual || field.agree(setting, Setting{})) continue;
    text += fmt::format(", {} {}", field.name, to_text(record_field(field.name), record));
  }
  return text;
}

std::string identity_difference(const Record& a, const Record& b, Aspect aspect) {
  std::string text;
  for (const SettingField& field : settings) {
    if (field.aspect != aspect || field.agree(a.setting, b.setting)) continue;
    const Field& shown = record_field(field.name);
    text += fmt::format("{}{} {} and {}", text.empty() ? "" : "; ", field.name, to_text(shown, a), to_text(shown, b));
  }
  return text;
}

}  // namespace assay
