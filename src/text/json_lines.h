#pragma once

#include <string>
#include <string_view>

#include "text/corpus.h"

namespace assay {

// Data sets as lines of JSON (.jsonl): every line is an object, its text under "text" or "sentence", or two of them
// under the names of pair_names; its label under "label", of a pair also "score". Other members are not read. Lines end
// in "\n" or "\r\n"; the last one may lack its end. All of these throw a user error "name:line: ..." for a line that is
// not such an object.

/// Whether the first line has a label; nothing behind it is read.
bool has_labels(std::string_view content, const std::string& name);

/// Throws for a line without a label, and for one that is neither a whole number from 0 to 2^31 - 1 nor one of `names`.
LabelledSet parse_labelled_json_lines(std::string_view content, const std::string& name,
                                      LabelKind kind = LabelKind::classes, const ClassNames& names = {});

/// Whether the first line has words with tags: lists under "tokens" and one of "ner_tags", "tags" and "labels".
bool has_tags(std::string_view content, const std::string& name);

/// Throws for a line without them, for lists of two lengths, and for a tag that is neither a whole number from 0 to
/// 2^31 - 1, nor -100, nor one of `names`.
TaggedSet parse_tagged_json_lines(std::string_view content, const std::string& name, const ClassNames& names = {});

/// The texts in their order, each with a line end behind it where it brings none. Labels are not looked at.
std::string parse_json_lines_text(std::string_view content, const std::string& name);

}  // namespace assay
