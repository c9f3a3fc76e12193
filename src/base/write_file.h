#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// Receives the bytes of a file in order, a piece at a time.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// The one writer of files. What a path names decides how it is written:
//
//   a regular file, or nothing yet    whole or not at all: under another name, synced, renamed; the folder is synced
//   too,
//                                     so that what was reported as written outlasts a crash. An existing file keeps its
//                                     owner and mode; a new one has the umask's.
//   a symbolic link                   what it points to is written; the link stays.
//   a device, a pipe, /dev/stdout     written to as it is.
//
// A full or broken disk is an error of `lacking`, a path that cannot be written one of `user`; both name the path.

void write_file_atomically(const std::filesystem::path& path, std::string_view content);
/// The same for content too big to hold at once: `produce` hands the pieces to the sink that it is given. What it
/// throws passes through, and the file stays as it was.
void write_file_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& produce);

/// Throws as writing would, as far as that can be told beforehand: the folder is missing or refuses, the file is
/// read-only, a folder stands in its place. Leaves nothing behind and opens no pipe.
void check_writable(const std::filesystem::path& path);

/// Whether both paths lead to one regular file, or would once it is made; through links, and where neither exists yet.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// Whether a path leads by its own name, not as /dev/stdout, to the regular file that is open as `descriptor`.
bool is_file_of(int descriptor, const std::filesystem::path& path);

/// Makes the names in a folder outlast a crash.
void sync_folder(const std::filesystem::path& folder);

/// Writes everything to an open descriptor. Throws `fail_call`'s error of `subject`.
void write_all(int descriptor, std::span<const std::byte> content, const std::string& subject);

}  // namespace assay
