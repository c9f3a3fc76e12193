#pragma once

// For the tests of this room only: an HTTP server on this machine, and a hub made of two of them.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/hash.h"
#include "hub/hub_name.h"

namespace assay {

struct SeenRequest {
  std::string method, path, token, range;
};
struct ServerReply {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  std::size_t cut_at = std::string::npos;  ///< The connection breaks behind so many bytes of the body.
};

/// Answers one request a connection, on a free port of 127.0.0.1, until it goes.
class TestServer {
 public:
  explicit TestServer(std::function<ServerReply(const SeenRequest&)> answer) : answer_(std::move(answer)) {
    ::setenv("no_proxy", "127.0.0.1", 1);  // Whatever the machine's network is like.
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
    ::listen(listener_.get(), 16);
    socklen_t size = sizeof(address);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

  std::string address() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<SeenRequest> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  void serve() {
    while (true) {
      const Descriptor connection(::accept(listener_.get(), nullptr, nullptr));
      if (!connection) return;
      std::string text;
      char buffer[4096];
      while (text.find("\r\n\r\n") == std::string::npos) {
        const ssize_t count = ::recv(connection.get(), buffer, sizeof(buffer), 0);
        if (count <= 0) break;
        text.append(buffer, static_cast<std::size_t>(count));
      }
      respond(connection.get(), parsed(text));
    }
  }

  static std::string after(const std::string& text, const std::string& word) {
    const std::size_t at = text.find(word);
    return at == std::string::npos ? "" : text.substr(at + word.size(), text.find("\r\n", at) - at - word.size());
  }
  static SeenRequest parsed(const std::string& text) {
    const std::size_t space = text.find(' ');
    return {text.substr(0, space), text.substr(space + 1, text.find(' ', space + 1) - space - 1),
            after(text, "Authorization: "), after(text, "Range: bytes=")};
  }

  void respond(int connection, const SeenRequest& request) {
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    }
    const ServerReply reply = answer_(request);
    std::string text = "HTTP/1.1 " + std::to_string(reply.status) +
                       " x\r\nConnection: close\r\nContent-Length: " + std::to_string(reply.body.size()) + "\r\n";
    for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
    text += "\r\n";
    if (request.method != "HEAD") text += reply.body.substr(0, reply.cut_at);
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  std::function<ServerReply(const SeenRequest&)> answer_;
  Descriptor listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  int port_ = 0;
  std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::thread thread_;
};

/// A hub with one repository, the model or data set "org/name", whose files of more than 100 bytes another server has.
class TestHub {
 public:
  inline static const std::string commit = std::string(40, 'c');

  std::map<std::string, std::string> files = {};
  HubKind kind = HubKind::model;
  bool is_gated = false;
  std::vector<int> statuses_first = {};        ///< Of the first answers, each with "Retry-After: 0".
  std::vector<std::size_t> breaks_first = {};  ///< Where the other server's first answers break.
  bool sends_other_bytes = false;

  std::string address() const { return hub_.address(); }
  std::vector<SeenRequest> asked() { return hub_.seen(); }
  std::vector<SeenRequest> asked_elsewhere() { return elsewhere_.seen(); }

 private:
  static ServerReply fault(int status, const std::string& code) { return {status, {{"X-Error-Code", code}}, ""}; }

  ServerReply description() const {
    std::string list;
    for (const auto& [name, content] : files) list += (list.empty() ? "" : ",") + ("{\"rfilename\":\"" + name + "\"}");
    return {200, {}, "{\"sha\":\"" + commit + "\",\"siblings\":[" + list + "]}"};
  }

  ServerReply hub_answer(const SeenRequest& request) {
    if (!statuses_first.empty()) {
      const int status = statuses_first.front();
      statuses_first.erase(statuses_first.begin());
      return {status, {{"Retry-After", "0"}}, ""};
    }
    const std::string api = std::string("/api/") + plural(kind) + "/org/name/revision/";
    if (request.path.starts_with("/api/") && !request.path.starts_with(api)) return fault(404, "RepoNotFound");
    if (request.path == api + "main" || request.path == api + "refs%2Fpr%2F3") return description();
    if (request.path.starts_with(api)) return fault(404, "RevisionNotFound");
    const std::string resolve =
        std::string(kind == HubKind::model ? "" : "/datasets") + "/org/name/resolve/" + commit + "/";
    const auto file = files.find(request.path.substr(std::min(resolve.size(), request.path.size())));
    if (is_gated) return fault(401, "GatedRepo");
    if (!request.path.starts_with(resolve) || file == files.end()) return fault(404, "EntryNotFound");
    const std::string& content = file->second;
    if (content.size() <= 100) {
      const bool is_known = content == "{}";  // As git names it.
      const std::string etag = is_known ? "9e26dfeeb6e641a33dae4961196235bdb965b21b" : "weak-" + file->first;
      return {200, {{"ETag", "W/\"" + etag + "\""}}, content};
    }
    const std::string hash = sha256_hex(std::as_bytes(std::span(content)));
    return {302,
            {{"Location", elsewhere_.address() + "/" + file->first},
             {"X-Linked-Size", std::to_string(content.size())},
             {"X-Linked-ETag", "\"" + hash + "\""}},
            ""};
  }

  ServerReply blob_answer(const SeenRequest& request) {
    const std::string& content = files.at(request.path.substr(1));
    const std::size_t from = request.range.empty() ? 0 : std::stoul(request.range);
    ServerReply reply{request.range.empty() ? 200 : 206, {}, content.substr(from)};
    if (sends_other_bytes) std::fill(reply.body.begin(), reply.body.end(), '?');
    if (!breaks_first.empty()) {
      reply.cut_at = breaks_first.front();
      breaks_first.erase(breaks_first.begin());
    }
    return reply;
  }

  TestServer elsewhere_{[this](const SeenRequest& request) { return blob_answer(request); }};
  TestServer hub_{[this](const SeenRequest& request) { return hub_answer(request); }};
};

}  // namespace assay
