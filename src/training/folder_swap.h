#pragma once

#include <filesystem>

namespace assay {

/// An empty folder beside `folder`, "NAME.tmp-<process>", to be filled and put in its place; made anew where this
/// process left one. Throws a user error naming `folder` where its parent is missing or refuses.
std::filesystem::path make_sibling(const std::filesystem::path& folder);

/// The sibling takes the folder's name in one step and the folder that stood there is removed. At any moment a whole
/// folder has the name, on file systems that can exchange two names (all common ones of Linux); elsewhere for one
/// instant none has, and the old one stands as the sibling. Throws a user error naming `folder`.
void put_in_place(const std::filesystem::path& sibling, const std::filesystem::path& folder);

/// Removes siblings of `folder` whose process runs no longer.
void remove_abandoned(const std::filesystem::path& folder);

}  // namespace assay
