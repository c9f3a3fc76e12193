#pragma once

#include <string_view>

namespace assay {

/// Descriptors 0 to 2 that are closed are opened on /dev/null, so that no file of ours takes their numbers and is
/// written into. To be called before any file is opened.
void open_standard_streams();

/// To standard output, escaped (`harmless`): all of it reaches whoever reads, or it is an error of `lacking`. Every
/// result goes through here.
void print(std::string_view text);
/// The same for text that holds colours of ours; whoever put them in has escaped the rest.
void print_coloured(std::string_view text);

/// To standard error, escaped. Never fails: whether anybody listens there changes no result.
void tell(std::string_view text) noexcept;
/// The same for text that moves the cursor.
void tell_terminal(std::string_view text) noexcept;

}  // namespace assay
