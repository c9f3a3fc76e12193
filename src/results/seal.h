#pragma once

#include <string>

#include "base/json_fwd.h"
#include "results/document.h"
#include "results/record.h"

namespace assay {

// A seal is the SHA-256 over a canonical form: JSON without blanks, its keys in alphabetical order, numbers in the
// shortest form that reads back alike. It tells that something was changed after it was written, by a fault or by hand;
// whoever changes it on purpose can make another seal, too.

/// Of a record as a file holds it: of all but its seal, and what a store puts beside it (`run`, `saved`, `source`).
std::string seal_of(const Json& record);
/// What a stored seal says of content whose seal is `own`.
Seal::State state_of(const std::optional<std::string>& stored, const std::string& own);
/// The record with the seal of its content. One whose seal was broken when it was read keeps it; one that had none gets
/// none.
Record sealed(Record record);
/// What a record that was read says of its seal.
Seal seal_read(const Json& record);

/// The first `most` of what changed, and how many more there are.
std::string changed_words(const Seal& seal, std::size_t most);

/// The document with its records' seals and its own, which is of its JSON.
Document sealed(Document document);
/// Puts the origin, with the seal of all of it, into what is to be written.
void seal_json(RunOrigin origin, OrderedJson& json);
/// What a document that was read says of itself; absent in what was written before there were seals.
std::optional<RunOrigin> origin_read(const Json& document);

}  // namespace assay
