#pragma once

#include <cstdint>
#include <string>

#include "base/json_fwd.h"
#include "model/config.h"

namespace assay {

/// Typed access to the entries of one config file. Every fault is a user error that names file and entry.
class ConfigReader {
 public:
  ConfigReader(const Json& json, const std::string& file);

  bool has(const char* key) const;  ///< Present, and not null.
  std::int64_t count(const char* key) const;
  std::int64_t count_or(const char* key, std::int64_t fallback) const;
  /// From 0 on.
  std::int64_t whole_or(const char* key, std::int64_t fallback) const;
  double real_or(const char* key, double fallback, const RealRange& range) const;
  std::string text_or(const char* key, const std::string& fallback) const;
  bool flag_or(const char* key, bool fallback) const;
  Activation activation_or(const char* key, const std::string& fallback) const;
  /// A switch that changes the computation in a way that is not built must stand where we can follow.
  void require_flag(const char* key, bool wanted) const;

  const Json& json() const { return json_; }
  const std::string& file() const { return file_; }

 private:
  const Json& json_;
  const std::string& file_;
};

/// As ConfigReader::activation_or reads it.
const char* config_word(Activation activation);

}  // namespace assay
