#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace assay {

/// What names standard output in the place of a file.
inline constexpr const char* standard_output_path = "-";

/// A text file that was asked for; `path` empty: not; "-": standard output. Its text is made when it is written, and
/// written escaped.
struct OutputFile {
  std::filesystem::path path;
  std::function<std::string()> text;
};

/// Hands results over: first `show`, which prints to standard output, then each file. Where a text goes to standard
/// output, it stands there alone. What fails keeps none of the others back: each failure is told in a line, the last
/// one by the error that is thrown, with the first one's code.
void deliver(const std::function<void()>& show, const std::vector<OutputFile>& files);

/// The one line of an error on standard error.
void complain(const std::string& message);

}  // namespace assay
