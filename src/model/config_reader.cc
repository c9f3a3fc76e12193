#include "model/config_reader.h"

#include "base/error.h"
#include "base/json.h"

namespace assay {
namespace {

std::string brief(const Json& value) {
  std::string text = value.is_structured() ? value.type_name() : value.dump(-1, ' ', true);
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

struct ActivationWord {
  const char* word;
  Activation activation;
};

/// Of several words for one function, the first is written.
constexpr ActivationWord activation_words[] = {{"gelu", Activation::gelu_erf},
                                               {"gelu_new", Activation::gelu_tanh},
                                               {"gelu_pytorch_tanh", Activation::gelu_tanh},
                                               {"gelu_fast", Activation::gelu_tanh},
                                               {"relu", Activation::relu},
                                               {"silu", Activation::silu},
                                               {"swish", Activation::silu}};

}  // namespace

ConfigReader::ConfigReader(const Json& json, const std::string& file) : json_(json), file_(file) {
  if (!json.is_object()) fail_user("{}: is not a JSON object", file);
}

bool ConfigReader::has(const char* key) const {
  return json_.contains(key) && !json_.at(key).is_null();
}

std::int64_t ConfigReader::count(const char* key) const {
  if (!has(key)) fail_user("{}: '{}' is missing", file_, key);
  return count_or(key, 0);
}

std::int64_t ConfigReader::count_or(const char* key, std::int64_t fallback) const {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (!has(key)) return fallback;
  const Json& value = json_.at(key);
  if (!value.is_number_integer()) fail_user("{}: '{}' is {}, a whole number is needed", file_, key, brief(value));
  const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
  if (huge || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > most) {
    fail_user("{}: '{}' is {}, a number between 1 and 2^31 is needed", file_, key, brief(value));
  }
  return value.get<std::int64_t>();
}

std::int64_t ConfigReader::whole_or(const char* key, std::int64_t fallback) const {
  return has(key) && json_.at(key) == 0 ? 0 : count_or(key, fallback);
}

double ConfigReader::real_or(const char* key, double fallback, const RealRange& range) const {
  if (!has(key)) return fallback;
  const Json& value = json_.at(key);
  if (!value.is_number()) fail_user("{}: '{}' is {}, a number is needed", file_, key, brief(value));
  return checked_real(value.get<double>(), range, file_, key);
}

std::string ConfigReader::text_or(const char* key, const std::string& fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_string()) fail_user("{}: '{}' is {}, a string is needed", file_, key, brief(json_.at(key)));
  return json_.at(key).get<std::string>();
}

bool ConfigReader::flag_or(const char* key, bool fallback) const {
  if (!has(key)) return fallback;
  if (!json_.at(key).is_boolean())
    fail_user("{}: '{}' is {}, true or false is needed", file_, key, brief(json_.at(key)));
  return json_.at(key).get<bool>();
}

Activation ConfigReader::activation_or(const char* key, const std::string& fallback) const {
  const std::string text = text_or(key, fallback);
  for (const auto& [word, activation] : activation_words) {
    if (text == word) return activation;
  }
  fail_user("{}: '{}' is '{}'; gelu, gelu_new, gelu_pytorch_tanh, relu and silu are known", file_, key, text);
}

void ConfigReader::require_flag(const char* key, bool wanted) const {
  if (flag_or(key, wanted) != wanted) fail_user("{}: '{}' = {} is not supported", file_, key, !wanted);
}

const char* config_word(Activation activation) {
  for (const ActivationWord& known : activation_words) {
    if (known.activation == activation) return known.word;
  }
  fail_assertion("an activation that configs can name", __FILE__, __LINE__);
}

}  // namespace assay
