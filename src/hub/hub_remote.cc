#include "hub/hub_remote.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/lower_case.h"
#include "base/paths.h"
#include "base/printable.h"
#include "base/system_error.h"
#include "base/write_file.h"
#include "hub/command.h"
#include "hub/elsewhere.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The one address of a network that this program knows.
constexpr const char* public_endpoint = "https://huggingface.co";
constexpr double most_waiting_s = 60;
constexpr std::size_t most_redirects = 10;
constexpr std::size_t longest_token = 4096;

std::string endpoint() {
  std::string address = environment("HF_ENDPOINT");
  if (address.empty()) return public_endpoint;
  while (address.ends_with('/')) address.pop_back();
  if (resolved_url(address, address).empty())
    fail_user("HF_ENDPOINT: '{}' is no address of http or https", printable(address, 200));
  return address;
}

std::string without_ends(std::string text) {
  text.erase(text.find_last_not_of(" \r\n\t") + 1);
  text.erase(0, text.find_first_not_of(" \r\n\t"));
  return text;
}

/// Of HF_TOKEN, else of the file that huggingface_hub's login writes.
std::string hub_token() {
  std::string token = without_ends(environment("HF_TOKEN"));
  if (token.empty()) {
    const std::string home = environment("HF_HOME");
    const std::string cache = environment("XDG_CACHE_HOME");
    const fs::path base = !home.empty()    ? fs::path(home)
                          : !cache.empty() ? fs::path(cache) / "huggingface"
                                           : fs::path(environment("HOME")) / ".cache/huggingface";
    if (is_there(base / "token") && !is_folder(base / "token"))
      token = without_ends(read_file(base / "token", longest_token));
  }
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c > '~'; };
  if (std::any_of(token.begin(), token.end(), is_odd)) fail_user("the hub's token holds characters that no token has");
  return token;
}

bool is_worth_another_try(const HttpAnswer& answer) {
  if (answer.end == HttpEnd::broken) return true;
  return answer.end == HttpEnd::whole && (answer.status == 429 || (answer.status >= 500 && answer.status <= 504));
}

/// What the answer asks to wait for, else `usual`.
double wait_s(const HttpAnswer& answer, double usual) {
  const std::string asked = answer.header("retry-after");
  double seconds = 0;
  const auto [end, fault] = std::from_chars(asked.data(), asked.data() + asked.size(), seconds);
  const bool is_number = !asked.empty() && fault == std::errc() && end == asked.data() + asked.size() && seconds >= 0;
  return is_number ? seconds : usual;
}

void wait(double seconds, const std::string& what) {
  const double end = now_s() + seconds;
  while (now_s() < end) {
    throw_if_interrupted(what);
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.1, end - now_s())));
  }
}

/// Tries while waiting helps: a clock that begins anew whenever something arrived.
class Patience {
 public:
  void something_came() { begin_s_ = -1, usual_s_ = 0.5; }
  /// Waits as the answer asks; false where that would be longer than it is worth.
  bool wait_for(const HttpAnswer& answer, const std::string& what) {
    if (begin_s_ < 0) begin_s_ = now_s();
    const double seconds = wait_s(answer, usual_s_);
    if (now_s() - begin_s_ + seconds > most_waiting_s) return false;
    usual_s_ *= 2;
    wait(seconds, what);
    return true;
  }

 private:
  double begin_s_ = -1;
  double usual_s_ = 0.5;
};

/// Git's name of a file's content: SHA-1 of "blob SIZE", a zero byte, and the bytes.
std::string git_hash(const fs::path& path, std::uint64_t bytes) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const std::string head = fmt::format("blob {}", bytes);
  const std::string content = read_file(path, bytes + 1);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const bool done = context && EVP_DigestInit_ex(context.get(), EVP_sha1(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), head.c_str(), head.size() + 1) == 1 &&
                    EVP_DigestUpdate(context.get(), content.data(), content.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), &size) == 1;
  if (!done) fail_lacking("libcrypto: SHA-1 failed");
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest.at(i));
  return text;
}

bool is_hexadecimal(const std::string& text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Without what marks it as weak, and its quotes.
std::string bare_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return lower_case(etag);
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() && !text.empty() ? number : UINT64_MAX;
}

std::uint64_t bytes_at(const fs::path& path) {
  std::error_code absent;
  const std::uintmax_t bytes = fs::file_size(path, absent);
  return absent ? 0 : bytes;
}

/// Small files without a hash that is known here have their size alone.
void verify(const RemoteFile& file, const fs::path& part, const std::string& what) {
  const bool is_sha256 = is_hexadecimal(file.etag, 64);
  const bool is_git = is_hexadecimal(file.etag, 40);
  const std::string found = is_sha256 ? sha256_file(part) : is_git ? git_hash(part, file.bytes) : file.etag;
  if (found == file.etag) return;
  std::error_code ignored;
  fs::remove(part, ignored);
  fail_lacking("{}: what came is not what the hub's {} says, and was discarded", what,
               is_sha256 ? "SHA-256" : "hash of the file");
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_hub_offline() {
  const std::string word = lower_case(environment("HF_HUB_OFFLINE"));
  return word == "1" || word == "on" || word == "yes" || word == "true";
}

HubRepository::HubRepository(const HubName& name) : name_(name), endpoint_(endpoint()), token_(hub_token()) {
  const std::string what = name_.repository;
  const HttpAnswer answer = ask_patiently({.url = fmt::format("{}/api/{}/{}/revision/{}", endpoint_, plural(name_.kind),
                                                              escaped_path(name_.repository, Slashes::kept),
                                                              escaped_path(name_.revision, Slashes::escaped))},
                                          what);
  if (answer.status != 200) fail(answer, fmt::format("{}: revision {}", what, name_.revision));
  try {
    const Json json = Json::parse(answer.body, nullptr, false);  // what is none has no entries
    commit_ = json.at("sha").get<std::string>();
    for (const Json& file : json.at("siblings")) files_.push_back(file.at("rfilename").get<std::string>());
  } catch (const Json::exception&) {
    fail_lacking("{}: {} answers what is no description of a repository", what, endpoint_);
  }
  if (!is_repository_word(commit_) || commit_.size() > 200) fail_lacking("{}: {} names no commit", what, endpoint_);
}

std::string HubRepository::resolve_url(const std::string& file) const {
  const char* before = name_.kind == HubKind::data_set ? "datasets/" : "";
  return fmt::format("{}/{}{}/resolve/{}/{}", endpoint_, before, escaped_path(name_.repository, Slashes::kept),
                     escaped_path(commit_, Slashes::escaped), escaped_path(file, Slashes::kept));
}

RemoteFile HubRepository::look_up(const std::string& file) const {
  const std::string what = fmt::format("{}: {}", name_.repository, file);
  const HttpAnswer answer = ask_patiently({.url = resolve_url(file), .only_headers = true}, what);
  if (answer.status != 200 && !answer.is_redirect()) fail(answer, what);
  const bool is_linked = !answer.header("x-linked-etag").empty();
  RemoteFile found{file, bare_etag(answer.header(is_linked ? "x-linked-etag" : "etag")), 0};
  found.bytes = number_of(answer.header(answer.header("x-linked-size").empty() ? "content-length" : "x-linked-size"));
  const bool is_name = is_repository_word(found.etag) && found.etag.size() <= 200;
  if (!is_name || found.bytes == UINT64_MAX) fail_lacking("{}: the hub says neither its hash nor its size", what);
  return found;
}

void HubRepository::download(const RemoteFile& file, const fs::path& part, const TransferHooks& hooks) const {
  const std::string what = fmt::format("{}: {}", name_.repository, file.name);
  if (bytes_at(part) > file.bytes) fs::remove(part);
  hooks.arrived(bytes_at(part));
  Patience patience;
  while (bytes_at(part) < file.bytes || !is_there(part)) {
    const std::uint64_t before = bytes_at(part);
    receive(file, part, hooks);
    if (bytes_at(part) > before) patience.something_came();
    HttpAnswer broken;
    if (bytes_at(part) < file.bytes && !patience.wait_for(broken, what))
      fail_lacking("{}: the transfer breaks off again and again; what came is kept, the next try goes on", what);
  }
  verify(file, part, what);
}

Descriptor open_unfinished(const fs::path& part) {
  const auto open = [&] { return ::open(part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644); };
  int file = open();
  if (file < 0 && errno == ENOENT) {
    std::error_code ignored;
    fs::create_directories(part.parent_path(), ignored);
    file = open();
  }
  if (file < 0) fail_call(part.string(), errno);
  return Descriptor(file);
}

/// One transfer, from where the part ends.
void HubRepository::receive(const RemoteFile& file, const fs::path& part, const TransferHooks& hooks) const {
  const std::string what = fmt::format("{}: {}", name_.repository, file.name);
  const Descriptor out = open_unfinished(part);
  std::uint64_t written = bytes_at(part);
  HttpRequest request{.url = resolve_url(file.name), .from = written, .may_go_on = hooks.may_go_on};
  request.sink = [&](long status, std::span<const std::byte> piece) {
    if (status == 200 && request.from > 0) {  // The whole of it again.
      if (::ftruncate(out.get(), 0) != 0) fail_call(part.string(), errno);
      written = request.from = 0;
    }
    written += piece.size();
    if (written > file.bytes) {
      fs::remove(part);
      fail_lacking("{}: more than its {} bytes came; it was discarded", what, file.bytes);
    }
    write_all(out.get(), piece, part.string());
    hooks.arrived(piece.size());
  };
  const HttpAnswer answer = ask_patiently(request, what);
  if (answer.end == HttpEnd::broken) return;
  if (answer.status == 416) fs::remove(part);  // The part is of another file.
  if (answer.status != 200 && answer.status != 206 && answer.status != 416) fail(answer, what);
}

/// Follows redirects; credentials go to the hub's own host only.
HttpAnswer HubRepository::ask(HttpRequest request, const std::string& what) const {
  const std::string home = origin_of(endpoint_);
  if (!request.may_go_on) request.may_go_on = [] { return pending_interrupt() == 0; };
  for (std::size_t i = 0; i < most_redirects; ++i) {
    request.token = origin_of(request.url) == home ? token_ : "";
    HttpAnswer answer = ask_http(request);
    if (answer.end == HttpEnd::stopped) throw Error(ExitCode::interrupted, what + ": interrupted, what came is kept");
    if (answer.end == HttpEnd::unreachable)
      fail_lacking("{}: {} cannot be reached: {} (HF_ENDPOINT names another; HF_HUB_OFFLINE=1 asks for nothing)", what,
                   origin_of(request.url), answer.fault);
    // What a large file is stands in the answer that sends the asker elsewhere.
    const bool is_told = request.only_headers && !answer.header("x-linked-etag").empty();
    if (!answer.is_redirect() || is_told) return answer;
    request.url = resolved_url(request.url, answer.header("location"));
    if (request.url.empty()) fail_lacking("{}: the hub leads to what is no address", what);
  }
  fail_lacking("{}: the hub leads from one address to another without end", what);
}

/// A download that broke off is not asked for again here: its part has grown.
HttpAnswer HubRepository::ask_patiently(const HttpRequest& request, const std::string& what) const {
  Patience patience;
  while (true) {
    HttpAnswer answer = ask(request, what);
    const bool is_download = request.sink && answer.end == HttpEnd::broken;
    if (!is_worth_another_try(answer) || is_download) return answer;
    if (patience.wait_for(answer, what)) continue;
    if (answer.end == HttpEnd::broken) fail_lacking("{}: {}: {}", what, endpoint_, answer.fault);
    return answer;
  }
}

void HubRepository::fail(const HttpAnswer& answer, const std::string& what) const {
  const std::string code = answer.header("x-error-code");
  const bool is_gated = code == "GatedRepo" || answer.status == 403;
  if (code == "RevisionNotFound") fail_user("{}: has no revision {}", name_.repository, name_.revision);
  if (code == "EntryNotFound") fail_user("{}: revision {} has no such file", what, name_.revision);
  if (is_gated && !token_.empty())
    fail_user("{}: is gated, and the token of HF_TOKEN does not open it: its terms are accepted on the hub's page",
              name_.repository);
  if (is_gated)
    fail_user("{}: is gated: accept its terms on the hub's page, and give a token in HF_TOKEN", name_.repository);
  if (code == "RepoNotFound" || answer.status == 404 || answer.status == 401)
    fail_user("{}: {} has no such repository, or shows it to those alone whose token HF_TOKEN holds", name_.repository,
              endpoint_);
  fail_lacking("{}: {} answers with status {}{}", what, endpoint_, answer.status,
               answer.status == 429 ? " (too many requests) after all waiting" : "");
}

}  // namespace assay
