#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Text that may hold addresses, as it may be kept and shown: what stands for a user and a password in a URL (RFC 3986:
/// the user information before the host, and every value of a query, where plugs take passwords) becomes "***". A
/// command line, an error, or an address alone.
std::string without_secrets(std::string_view text);

}  // namespace assay
