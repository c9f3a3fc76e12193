#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "results/record.h"

namespace assay {

/// What a field of the identity says.
enum class Aspect : std::uint8_t {
  subject,  ///< What is measured: weights, precision, shape, setting. Equal subjects may be compared.
  place     ///< Where and by what: the machine, the program. Subject and place together: the same measurement.
};

struct IdentityField {
  const char* name;  ///< In record_fields().
  Aspect aspect;
  bool is_younger = false;  ///< Than records of a store may be: counts only where it differs from a blank record's.
};

/// The fields by which two records are the same measurement: the one definition that resuming, the history, importing
/// and comparing share.
std::span<const IdentityField> identity_fields();

/// SHA-256 over the subject's fields, 32 hexadecimal digits. A checkpoint's name does not count beside its hash.
std::string subject_key(const Record& record);
/// The same over all of the identity's fields.
std::string identity_key(const Record& record);

/// "gpt2, bf16, cpu, 1 x 128": the subject in words, with what is not as usual.
std::string subject_words(const Record& record);

/// The identity's fields in which they differ, "threads 2 and 4; fusion on and off"; empty where in none.
std::string identity_difference(const Record& a, const Record& b, Aspect aspect);

}  // namespace assay
