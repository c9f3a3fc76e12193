#include "base/json.h"

#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/printable.h"

namespace assay {
namespace {

constexpr std::size_t max_depth = 64;

/// Builds the document from the parser's events and refuses what nlohmann's own builders accept: deep nesting and
/// duplicate keys. Its builder with a callback would do, but looks through an array again after each of its objects.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t& value) override { return put(std::move(value)); }

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [place, is_new] = open_.back()->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) fail_user("{}: the key '{}' stands twice in one object", name_, printable(place->first));
    member_ = &place->second;
    key_ = place->first;
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/, const Json::exception& error) override {
    // nlohmann's message holds the byte and the cause after a bracketed code; it may quote odd bytes over lines.
    std::string cause = error.what();
    if (const auto bracket = cause.find("] "); bracket != std::string::npos) cause.erase(0, bracket + 2);
    fail_user("{}: {}{}", name_, printable(cause, 200),
              key_.empty() ? "" : fmt::format(", after the key '{}'", printable(key_, 60)));
  }

 private:
  template <typename Value>
  bool put(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  /// The value goes where the innermost open array or object, or the document, has its next place.
  Json& place(Json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    return open_.back()->get_ref<Json::array_t&>().emplace_back(std::move(value));
  }

  bool open(Json empty) {
    if (open_.size() >= max_depth) fail_user("{}: JSON nested deeper than {}", name_, max_depth);
    open_.push_back(&place(std::move(empty)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& name_;
  Json root_;
  std::vector<Json*> open_;  // from the document inwards; a container does not grow while one inside it is open
  std::string key_;          // the one that was read last
  Json* member_ = nullptr;   // of the innermost object: the place of the key that was read last
};

}  // namespace

Json parse_json(std::string_view text, const std::string& name) {
  // nlohmann's parser takes a zero byte for the end and would overlook what follows it.
  if (const auto zero = text.find('\0'); zero != text.npos) fail_user("{}: byte {} of the JSON is zero", name, zero);
  Reader reader(name);
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

OrderedJson or_null(const std::optional<double>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson finite_or_null(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

}  // namespace assay
