#include "base/json.h"

#include <set>
#include <vector>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr int max_depth = 64;

/// Follows the parser from event to event to refuse what nlohmann-json accepts: deep nesting and duplicate keys.
class Guard {
 public:
  explicit Guard(const std::string& name) : name_(name) {}

  bool operator()(int /*depth*/, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) open();
    if (event == Event::object_end || event == Event::array_end) keys_.pop_back();
    if (event == Event::key && !keys_.back().insert(parsed.get_ref<const std::string&>()).second) {
      fail_user("{}: the key '{}' stands twice in one object", name_, printable(parsed.get_ref<const std::string&>()));
    }
    return true;
  }

 private:
  void open() {
    if (keys_.size() >= max_depth) fail_user("{}: JSON nested deeper than {}", name_, max_depth);
    keys_.emplace_back();
  }

  const std::string& name_;
  std::vector<std::set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  // nlohmann's parser takes a zero byte for the end and would overlook what follows it.
  if (const auto zero = text.find('\0'); zero != text.npos) fail_user("{}: byte {} of the JSON is zero", name, zero);
  try {
    return Json::parse(text.begin(), text.end(), Guard(name));
  } catch (const Json::exception& e) {
    // nlohmann's message holds the byte and the cause after a bracketed code; it may quote odd bytes over lines.
    std::string cause = e.what();
    if (const auto bracket = cause.find("] "); bracket != std::string::npos) cause.erase(0, bracket + 2);
    fail_user("{}: {}", name, printable(cause, 200));
  }
}

}  // namespace assay
