#pragma once

#include <cstddef>
#include <filesystem>

#include "base/handle.h"

namespace assay {

/// A mapped file whose missing pages are a user's error, not a crash.
struct WatchedMapping;
void forget_mapping(WatchedMapping* mapping);
/// To be let go before the pages are unmapped.
using MappingWatch = Handle<WatchedMapping*, forget_mapping>;

/// While the watch lives, a thread that touches a page of the mapping behind the end that its file has since been cut
/// to (SIGBUS) ends the process with exit code 2 and one line that names the file. `size` is not 0. Threads may watch
/// and forget at the same time.
MappingWatch watch_mapping(const void* address, std::size_t size, const std::filesystem::path& path);

}  // namespace assay
