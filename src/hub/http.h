#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace assay {

struct HttpRequest {
  std::string url;
  std::string token = {};  ///< Sent as a bearer's, if any.
  bool only_headers = false;
  std::uint64_t from = 0;  ///< First byte that is asked for.
  /// Receives the body of an answer of status 200 or 206 (which says whether it begins at `from`), a piece at a time.
  /// Without it the body is kept, up to 32 MiB.
  std::function<void(long status, std::span<const std::byte> piece)> sink = {};
  /// Asked about ten times a second: false ends the transfer.
  std::function<bool()> may_go_on = {};
};

/// What became of a request.
enum class HttpEnd : std::uint8_t {
  whole,        ///< The answer came to its end, whatever its status.
  broken,       ///< It broke off, or nothing came for 30 s: another try may go on.
  unreachable,  ///< There is no such host, it refuses, or its certificate is not trusted: another try would not help.
  stopped       ///< By may_go_on.
};

struct HttpAnswer {
  HttpEnd end = HttpEnd::whole;
  std::string fault = {};                           ///< Where it is not whole.
  long status = 0;                                  ///< 0: none came.
  std::map<std::string, std::string> headers = {};  ///< Names in lower case.
  std::string body = {};

  std::string header(const std::string& name) const;
  bool is_redirect() const;
};

/// One request; redirects are not followed. TLS by the system's certificates, proxies by the environment's variables.
/// What the sink throws passes through.
HttpAnswer ask_http(const HttpRequest& request);

/// Where a "Location" leads from there; empty where it is no address of http or https.
std::string resolved_url(const std::string& from, const std::string& location);
/// "https://host:443": credentials for one are for no other.
std::string origin_of(const std::string& url);
/// A path's words with what has a meaning in addresses escaped.
enum class Slashes : std::uint8_t { kept, escaped };
std::string escaped_path(std::string_view path, Slashes slashes);

}  // namespace assay
