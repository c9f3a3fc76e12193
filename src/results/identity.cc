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

std::string model_words(const Setting& setting) {
  return setting.model;
}
std::string precision_words(const Setting& setting) {
  return setting.precision;
}
std::string device_words(const Setting& setting) {
  return setting.device;
}
std::string machine_words(const Setting& setting) {
  return setting.machine;
}
std::string shape_words(const Setting& setting) {
  return fmt::format("{} x {}", setting.batch, setting.seq);
}
std::string counted_words(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
std::string thread_words(const Setting& setting) {
  return counted_words(setting.threads, "thread") + (setting.ranks ? " a rank" : "");
}
std::string rank_words(const Setting& setting) {
  return setting.ranks ? counted_words(*setting.ranks, "rank") : "";
}
std::string warm_up_words(const Setting& setting) {
  return setting.warmup_steps ? counted_words(*setting.warmup_steps, "warm-up step") : "";
}
/// Without the hash that stands in brackets.
std::string inputs_words(const Setting& setting) {
  if (is_of_program(setting.mode)) return "";
  if (setting.timed_inputs == InputsOf::random) return "timed on random ids of full length";
  const std::string data = setting.timed_data.value_or("data");
  return "timed on " + data.substr(0, data.find(" ["));
}
std::string order_words(const Setting& setting) {
  return setting.timed_inputs == InputsOf::random ? "" : std::string("rows ") + name(setting.row_order);
}
std::string padding_words(const Setting& setting) {
  return setting.timed_inputs == InputsOf::random ? "" : std::string("skip padding ") + name(setting.skip_padding);
}
std::string mode_words(const Setting& setting) {
  if (is_of_program(setting.mode)) return setting.mode == Mode::program ? "runs of a program" : "a phase of a program";
  return is_of_training(setting.mode) ? std::string("training: ") + name(setting.mode) : name(setting.mode);
}
std::string step_words(const Setting& setting) {
  return setting.step.value_or("");
}
std::string depth_words(const Setting& setting) {
  return setting.depth ? fmt::format("depth {}", *setting.depth) : "";
}
std::string prompt_words(const Setting& setting) {
  return setting.prompt_tokens ? fmt::format("prompt of {}", counted_words(*setting.prompt_tokens, "token")) : "";
}
std::string new_words(const Setting& setting) {
  return setting.new_tokens ? counted_words(*setting.new_tokens, "new token") : "";
}
std::string engine_words(const Setting& setting) {
  return setting.engine.value_or("");
}
std::string no_words(const Setting& /*setting*/) {
  return "";
}

#define ASSAY_SETTING(member, its_aspect, its_level, its_mention, ...) \
  {.name = #member,                                                    \
   .aspect = Aspect::its_aspect,                                       \
   .level = Level::its_level,                                          \
   .mention = Mention::its_mention,                                    \
   .agree = agree<&Setting::member> __VA_OPT__(, ) __VA_ARGS__}

constexpr SettingField settings[] = {
    ASSAY_SETTING(model, subject, title, always, .words = model_words),
    ASSAY_SETTING(weights, subject, title, otherwise),
    ASSAY_SETTING(parameters, subject, row, otherwise),
    ASSAY_SETTING(precision, subject, row, always, .words = precision_words),
    ASSAY_SETTING(device, subject, title, always, .words = device_words),
    ASSAY_SETTING(batch, subject, cell, always, .words = shape_words),
    ASSAY_SETTING(seq, subject, cell, always, .words = no_words),
    ASSAY_SETTING(threads, subject, title, in_titles, .words = thread_words),
    ASSAY_SETTING(logits, subject, title, where_unusual),
    ASSAY_SETTING(fusion, subject, title, where_unusual),
    ASSAY_SETTING(casts, subject, title, where_unusual),
    ASSAY_SETTING(seed, subject, row, otherwise),
    ASSAY_SETTING(mode, subject, title, where_unusual, .words = mode_words),
    ASSAY_SETTING(recompute, subject, title, where_unusual),
    ASSAY_SETTING(warmup_steps, subject, cell, where_unusual, .words = warm_up_words),
    ASSAY_SETTING(command, subject, row, otherwise),
    ASSAY_SETTING(phase, subject, cell, where_unusual),
    ASSAY_SETTING(machine, place, row, otherwise, .words = machine_words),
    ASSAY_SETTING(build, place, row, otherwise),
    ASSAY_SETTING(graphs, subject, title, where_unusual, .is_younger = true, .usual = "on"),
    ASSAY_SETTING(caches, subject, title, where_unusual, .is_younger = true),
    ASSAY_SETTING(timed_inputs, subject, title, where_unusual, .is_younger = true, .words = inputs_words),
    ASSAY_SETTING(timed_data, subject, title, otherwise, .is_younger = true),
    ASSAY_SETTING(row_order, subject, title, where_unusual, .is_younger = true, .words = order_words),
    ASSAY_SETTING(skip_padding, subject, title, where_unusual, .is_younger = true, .words = padding_words),
    ASSAY_SETTING(step, subject, title, where_unusual, .is_younger = true, .words = step_words),
    ASSAY_SETTING(depth, subject, cell, where_unusual, .is_younger = true, .words = depth_words),
    ASSAY_SETTING(prompt_tokens, subject, cell, where_unusual, .is_younger = true, .words = prompt_words),
    ASSAY_SETTING(new_tokens, subject, cell, where_unusual, .is_younger = true, .words = new_words),
    ASSAY_SETTING(ranks, subject, title, where_unusual, .is_younger = true, .words = rank_words),
    ASSAY_SETTING(recipe_hash, subject, row, otherwise, .is_younger = true),
    ASSAY_SETTING(calibration, subject, row, otherwise, .is_younger = true),
    ASSAY_SETTING(engine, subject, row, where_unusual, .is_younger = true, .words = engine_words),
    ASSAY_SETTING(engine_settings, subject, row, otherwise, .is_younger = true),
    ASSAY_SETTING(recipe, remark, row, otherwise),
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

bool is_usual(const SettingField& field, const Record& record) {
  const std::string value = to_text(record_field(field.name), record);
  return value == (field.usual != nullptr ? field.usual : to_text(record_field(field.name), Record{}));
}

/// Of the fields that are `wanted`, in the order of the list.
template <typename Wanted>
std::string joined_words(const Record& record, Wanted wanted) {
  std::string text;
  for (const SettingField& field : settings) {
    if (!wanted(field) || (field.mention == Mention::where_unusual && is_usual(field, record))) continue;
    const std::string words = words_of(field, record);
    if (!words.empty()) text += (text.empty() ? "" : ", ") + words;
  }
  return text;
}

}  // namespace

std::span<const SettingField> setting_fields() {
  return settings;
}

bool is_baseline(const Setting& setting) {
  return !setting.engine && setting.precision == setting.baseline;
}

std::string row_name(const Setting& setting) {
  if (!setting.engine) return setting.precision;
  return setting.precision == no_precision ? *setting.engine : *setting.engine + " " + setting.precision;
}

bool stand_together(const Setting& a, const Setting& b, Level level) {
  return std::all_of(std::begin(settings), std::end(settings),
                     [&](const SettingField& field) { return field.level > level || field.agree(a, b); });
}

std::string words_of(const SettingField& field, const Record& record) {
  if (field.words != nullptr) return field.words(record.setting);
  const std::string value = to_text(record_field(field.name), record);
  return value.empty() || value == "-" ? "" : fmt::format("{} {}", field.name, value);
}

std::string conditions_words(const Record& record, Level level) {
  return joined_words(record, [&](const SettingField& field) {
    return field.level <= level && field.mention != Mention::otherwise && std::string_view(field.name) != "model";
  });
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
  return joined_words(record, [](const SettingField& field) {
    return field.mention == Mention::always || field.mention == Mention::where_unusual;
  });
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
