// libcurl's functions that we call, each forwarded to the library that the system has. It is opened when one is first
// called, so that a program that was built elsewhere starts without it and uses the system's, which gets its updates.

#include <curl/curl.h>
#include <dlfcn.h>

#include <cstdarg>
#include <cstdint>

#include "base/error.h"

namespace assay {
namespace {

constexpr const char* library =
    "libcurl.so.4";  // Debian's, Ubuntu's, Fedora's and Arch's name for all of version 7 and 8.

void* open_curl() {
  static void* const opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr)
    fail_lacking("{}: not on this machine, and http needs it; install libcurl4 (as others call it: libcurl)", library);
  return opened;
}

/// Throws Error(lacking) where there is no libcurl, or an older one.
template <typename Function>
Function* function(const char* name) {
  void* const found = ::dlsym(open_curl(), name);
  if (found == nullptr) fail_lacking("{}: lacks {}; it is too old", library, name);
  return reinterpret_cast<Function*>(found);
}

template <typename Result, typename First, typename... Others>
First first_argument(Result (*)(First, Others...));
/// Newer versions of the header have it const.
using ReadUrl = decltype(first_argument(&curl_url_get));

}  // namespace
}  // namespace assay

#define ASSAY_CURL(name) (assay::function<decltype(name)>(#name))

// Its header has macros of these names, which check types; their functions are defined here.
#undef curl_easy_setopt
#undef curl_easy_getinfo

extern "C" {

CURLcode curl_global_init(long flags) {
  return ASSAY_CURL(curl_global_init)(flags);
}
CURL* curl_easy_init() {
  return ASSAY_CURL(curl_easy_init)();
}
void curl_easy_cleanup(CURL* curl) {
  ASSAY_CURL(curl_easy_cleanup)(curl);
}
CURLcode curl_easy_perform(CURL* curl) {
  return ASSAY_CURL(curl_easy_perform)(curl);
}
const char* curl_easy_strerror(CURLcode code) {
  return ASSAY_CURL(curl_easy_strerror)(code);
}
void curl_free(void* text) {
  ASSAY_CURL(curl_free)(text);
}
curl_slist* curl_slist_append(curl_slist* list, const char* text) {
  return ASSAY_CURL(curl_slist_append)(list, text);
}
void curl_slist_free_all(curl_slist* list) {
  ASSAY_CURL(curl_slist_free_all)(list);
}
CURLU* curl_url() {
  return ASSAY_CURL(curl_url)();
}
void curl_url_cleanup(CURLU* url) {
  ASSAY_CURL(curl_url_cleanup)(url);
}
CURLUcode curl_url_get(assay::ReadUrl url, CURLUPart part, char** text, unsigned flags) {
  return ASSAY_CURL(curl_url_get)(url, part, text, flags);
}
CURLUcode curl_url_set(CURLU* url, CURLUPart part, const char* text, unsigned flags) {
  return ASSAY_CURL(curl_url_set)(url, part, text, flags);
}

// Every option takes one long, curl_off_t or pointer: 64 bits in a general register on x86-64 and AArch64.
static_assert(sizeof(long) == sizeof(void*) && sizeof(curl_off_t) == sizeof(void*));

CURLcode curl_easy_setopt(CURL* curl, CURLoption option, ...) {
  va_list more;
  va_start(more, option);
  void* const value = va_arg(more, void*);
  va_end(more);
  return ASSAY_CURL(curl_easy_setopt)(curl, option, value);
}

CURLcode curl_easy_getinfo(CURL* curl, CURLINFO info, ...) {
  va_list more;
  va_start(more, info);
  void* const value = va_arg(more, void*);
  va_end(more);
  return ASSAY_CURL(curl_easy_getinfo)(curl, info, value);
}

}  // extern "C"
