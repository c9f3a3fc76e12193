#pragma once

#include <filesystem>
#include <string>

#include "text/corpus.h"

namespace assay {

// What files of data hold is told by their endings: a .tsv holds labelled sentences, a .jsonl these or a text
// (text/json_lines.h), any other file is a text. A file is named by its path or as a part of a data set
// (text/data_set_name.h). All of these throw a user error that names the file where it cannot be read, and for endings
// of formats that are not read (.parquet, compressed files), which say what is.

/// Whether a file holds labelled sentences; of a .jsonl, whether its first line has a label. Folders do not.
bool holds_labelled(const std::filesystem::path& named);

/// Whether a .jsonl holds words with tags, as its first line says.
bool holds_tagged(const std::filesystem::path& named);

TaggedSet load_tagged(const std::filesystem::path& named, const ClassNames& names = {});

LabelledSet load_labelled(const std::filesystem::path& named, LabelKind kind = LabelKind::classes,
                          const ClassNames& names = {});

/// The exact bytes of a file, or the texts of a .jsonl; an empty file is a text, but for a .jsonl. Whether they are
/// UTF-8, the tokenizer says.
std::string load_text(const std::filesystem::path& named);

}  // namespace assay
