#include "results/identity.h"

#include <gtest/gtest.h>

#include <functional>

#include "results/made_up_test.h"
#include "results/store.h"

namespace assay {
namespace {

TEST(Identity, WhatWasMeasuredAndHowItCameOutDoNotCount) {
  const Record a = made_up_record("bf16", 40);
  Record b = made_up_record("bf16", 50);
  b.outcome.status = Status::interrupted;
  b.outcome.group = 7;
  b.grade.trust = Trust::d;
  EXPECT_EQ(identity_key(a), identity_key(b));
  EXPECT_EQ(subject_key(a), subject_key(b));
}

TEST(Identity, EverySettingCounts) {
  const std::vector<std::function<void(Record&)>> changes = {
      [](Record& r) { r.setting.weights = "sha256:fedcba"; },
      [](Record& r) { r.setting.precision = "int8"; },
      [](Record& r) { r.setting.device = "cuda"; },
      [](Record& r) { r.setting.batch = 2; },
      [](Record& r) { r.setting.seq = 12; },
      [](Record& r) { r.setting.threads = 1; },
      [](Record& r) { r.setting.logits = LogitsOf::last; },
      [](Record& r) { r.setting.fusion = Switch::off; },
      [](Record& r) { r.setting.casts = CastsMade::every_call; },
      [](Record& r) { r.setting.seed = 2; },
      [](Record& r) { r.setting.mode = Mode::step; },
      [](Record& r) { r.setting.recompute = Recomputed::block; },
      [](Record& r) { r.setting.warmup_steps = 3; },
  };
  const Record plain = made_up_record("bf16", 40);
  for (const auto& change : changes) {
    Record changed = plain;
    change(changed);
    EXPECT_NE(subject_key(plain), subject_key(changed)) << identity_difference(plain, changed, Aspect::subject);
    EXPECT_NE(identity_key(plain), identity_key(changed));
  }
}

TEST(Identity, AnotherMachineOrBuildIsTheSameSubjectButAnotherMeasurement) {
  const Record plain = made_up_record("bf16", 40);
  Record moved = plain;
  moved.setting.machine = "another processor, 8 cores";
  EXPECT_EQ(subject_key(plain), subject_key(moved));
  EXPECT_NE(identity_key(plain), identity_key(moved));
  EXPECT_EQ(identity_difference(plain, moved, Aspect::subject), "");
  EXPECT_EQ(identity_difference(plain, moved, Aspect::place), "machine  and another processor, 8 cores");
}

TEST(Identity, AHashedCheckpointIsTheSameUnderAnyName) {
  Record plain = made_up_record("bf16", 40);
  Record renamed = plain;
  renamed.setting.model = "/somewhere/else";
  EXPECT_EQ(identity_key(plain), identity_key(renamed));
  plain.setting.weights = renamed.setting.weights = "random";
  EXPECT_NE(identity_key(plain), identity_key(renamed)) << "random weights are known by the model's name alone";
}

TEST(Identity, ValuesCannotRunIntoEachOther) {
  Record a = made_up_record("bf16", 40);
  Record b = a;
  a.setting.machine = "x\nbuild=1:y";
  a.setting.build = "";
  b.setting.machine = "x";
  b.setting.build = "y";
  EXPECT_NE(identity_key(a), identity_key(b));
}

TEST(Identity, IsSaidInWords) {
  Record record = made_up_record("bf16", 40);
  EXPECT_EQ(subject_words(record), "smollm2-135m, bf16, cpu, 1 x 128");
  record.setting.fusion = Switch::off;
  EXPECT_EQ(subject_words(record), "smollm2-135m, bf16, cpu, 1 x 128, fusion off");
}

// Stores keep keys that were made from this list. Whoever changes it raises store_version and adds a step to
// src/results/store_layout.cc that makes the keys anew; or adds a field that is younger, with a blank record's value in
// all that was kept.
TEST(Identity, BelongsToAVersionOfTheStore) {
  std::string names;
  for (const SettingField& field : setting_fields()) {
    if (field.aspect != Aspect::remark) names += std::string(field.name) + " ";
  }
  EXPECT_EQ(names,
            "model weights parameters precision device batch seq threads logits fusion casts seed mode recompute "
            "warmup_steps command phase machine build graphs caches timed_inputs timed_data row_order skip_padding "
            "step depth prompt_tokens new_tokens ranks recipe_hash calibration engine engine_settings ");
  EXPECT_EQ(store_version, 4);
}

TEST(Identity, YoungerFieldsCountWhereTheyAreNotAsTheyUsedToBe) {
  const Record before = made_up_record("bf16", 40);
  Record record = before;
  record.setting.caches = CacheState::cold;
  EXPECT_NE(identity_key(record), identity_key(before));
  EXPECT_EQ(subject_words(record), "smollm2-135m, bf16, cpu, 1 x 128, caches cold");
  Record oldest = before;  // Its key as stores have it since version 3.
  oldest.setting.machine = "m";
  oldest.setting.build = "b";
  EXPECT_EQ(identity_key(oldest), "0328ecfd454990d00de25f45bb085671");
}

}  // namespace
}  // namespace assay
