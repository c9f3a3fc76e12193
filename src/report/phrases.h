#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace assay {

/// Sentences of one paragraph; empty ones are left out.
class Paragraph {
 public:
  void say(const std::string& sentence) {
    if (!sentence.empty()) text_ += (text_.empty() ? "" : " ") + sentence;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

using Records = std::vector<const Record*>;

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& words);
/// Each text once, in the order of the records; empty ones not.
std::vector<std::string> distinct(const Records& records, const std::function<std::string(const Record&)>& text_of);
/// "3 rows", "1 row".
std::string counted(std::size_t count, std::string_view noun);
/// "2.1", "2.1 to 4.3" of what is there; empty where nothing is.
std::string spread(const Records& records, const std::function<std::optional<double>(const Record&)>& value_of);
/// "fp32, bf16 and int8" of those for which it holds; empty where for none.
std::string precisions_where(const Records& records, const std::function<bool(const Record&)>& holds);

}  // namespace assay
