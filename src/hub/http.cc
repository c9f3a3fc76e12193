#include "hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/handle.h"
#include "base/lower_case.h"

namespace assay {
namespace {

constexpr std::size_t longest_kept_body = 32 << 20;
constexpr std::size_t most_header_bytes = 1 << 18;
constexpr long connect_ms = 10000;
constexpr long most_silence_s = 30;

using EasyCurl = Handle<CURL*, curl_easy_cleanup>;
using CurlUrl = Handle<CURLU*, curl_url_cleanup>;
using CurlList = Handle<curl_slist*, curl_slist_free_all>;

/// Once a process, before any thread of ours asks for anything.
void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) fail_lacking("libcurl: {}", curl_easy_strerror(started));
}

/// A request while libcurl runs it. libcurl is C: what a callback throws waits here.
struct Transfer {
  const HttpRequest& request;
  HttpAnswer answer = {};
  CURL* curl = nullptr;
  std::size_t header_bytes = 0;
  std::exception_ptr thrown = nullptr;

  long status() const {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
};

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::string_view line(data, size * count);
  transfer.header_bytes += line.size();
  if (transfer.header_bytes > most_header_bytes) return 0;
  if (line.starts_with("HTTP/")) transfer.answer.headers.clear();  // Of a proxy's answer, or "100 Continue".
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos)
    transfer.answer.headers[lower_case(trimmed(line.substr(0, colon)))] = trimmed(line.substr(colon + 1));
  return line.size();
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t bytes = size * count;
  const long status = transfer.status();
  if (!transfer.request.sink || (status != 200 && status != 206)) {
    if (transfer.answer.body.size() + bytes > longest_kept_body) return 0;
    transfer.answer.body.append(data, bytes);
    return bytes;
  }
  try {
    transfer.request.sink(status, {reinterpret_cast<const std::byte*>(data), bytes});
    return bytes;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;
  }
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& request = static_cast<Transfer*>(user)->request;
  return request.may_go_on && !request.may_go_on() ? 1 : 0;
}

HttpEnd end_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpEnd::whole;
    case CURLE_ABORTED_BY_CALLBACK:
      return HttpEnd::stopped;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_WRITE_ERROR:  // More than is kept of a body, or a sink that threw.
      return HttpEnd::unreachable;
    default:
      return HttpEnd::broken;
  }
}

void allow_protocols(CURL* curl) {
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

void set_up(CURL* curl, Transfer& transfer, curl_slist* headers) {
  const HttpRequest& request = transfer.request;
  allow_protocols(curl);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "assay");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(curl, CURLOPT_NOBODY, request.only_headers ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, connect_ms);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, most_silence_s);
  // Not as libcurl resumes: a server that sends the whole file again is told by its status, and is no error.
  const std::string range = std::to_string(request.from) + "-";
  if (request.from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
}

/// A part of an address; empty where it has none.
std::string part_of(CURLU* url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owned(text, curl_free);
  return owned.get();
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool HttpAnswer::is_redirect() const {
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         !header("location").empty();
}

HttpAnswer ask_http(const HttpRequest& request) {
  start_curl();
  const EasyCurl curl(curl_easy_init());
  if (!curl) fail_lacking("libcurl: could not be initialised");
  Transfer transfer{.request = request, .curl = curl.get()};
  // What the file is, not how it was squeezed for the way: sizes and ranges count its own bytes.
  CurlList headers(curl_slist_append(nullptr, "Accept-Encoding: identity"));
  if (!request.token.empty()) {
    curl_slist* const longer = curl_slist_append(headers.get(), ("Authorization: Bearer " + request.token).c_str());
    if (longer == nullptr) fail_lacking("libcurl: out of memory");
  }
  set_up(curl.get(), transfer, headers.get());
  const CURLcode code = curl_easy_perform(curl.get());
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  transfer.answer.status = transfer.status();
  transfer.answer.end = end_of(code);
  if (code != CURLE_OK) transfer.answer.fault = curl_easy_strerror(code);
  return transfer.answer;
}

std::string resolved_url(const std::string& from, const std::string& location) {
  const CurlUrl url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, from.c_str(), 0) != CURLUE_OK) return "";
  if (curl_url_set(url.get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK) return "";
  const std::string scheme = part_of(url.get(), CURLUPART_SCHEME);
  return scheme == "http" || scheme == "https" ? part_of(url.get(), CURLUPART_URL) : "";
}

std::string origin_of(const std::string& text) {
  const CurlUrl url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return "";
  return part_of(url.get(), CURLUPART_SCHEME) + "://" + lower_case(part_of(url.get(), CURLUPART_HOST)) + ":" +
         part_of(url.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

std::string escaped_path(std::string_view path, Slashes slashes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = std::isalnum(byte) != 0 || std::string_view("-_.~").find(c) != std::string_view::npos;
    if (is_plain || (c == '/' && slashes == Slashes::kept)) {
      escaped += c;
    } else {
      escaped += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return escaped;
}

}  // namespace assay
