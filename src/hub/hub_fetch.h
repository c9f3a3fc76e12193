#pragma once

#include <string>
#include <vector>

#include "hub/hub_name.h"

namespace assay {

/// What of a repository's files is needed. Of a data set, the file that data_file picks; of a model, the file that the
/// name says, or the .gguf of that name with all of its parts; else the configuration, the tokenizer and the
/// safetensors (of split ones the index, which names the rest); else its only .gguf. Throws a user error where there is
/// none of these, or several models it may be. Of a tokenizer alone, its files, or the first of the .gguf's.
std::vector<std::string> needed_files(const HubName& name, std::vector<std::string> files,
                                      HubNeed need = HubNeed::model);
/// The files that the index of split safetensors names, which all must be among `files`.
std::vector<std::string> files_of_index(const std::string& index, const std::string& text,
                                        const std::vector<std::string>& files);

/// Fetches what is needed into the hub's cache, as huggingface_hub lays it out: each file whole and verified in blobs,
/// a link to it in the snapshot of its commit, the commit in refs. Unfinished files lie beside, and the next try goes
/// on with them, unless the revision has others by then: those go. Several files at a time, one process a file; tells
/// on standard error what is fetched, and how far it is. Throws what HubRepository throws.
void fetch_from_hub(const HubName& name, HubNeed need = HubNeed::model);

}  // namespace assay
