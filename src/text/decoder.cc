#include "text/decoder.h"

#include <algorithm>

#include "base/printable.h"
#include "text/bpe.h"
#include "text/unicode.h"

namespace assay {
namespace {

using Tokens = std::vector<std::string>;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// Length of the longest beginning of a character at text[at], at least 1 (Unicode Standard, table 3-8).
std::size_t broken_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const int lead = byte(at);
  const int least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const int most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (lead < 0xE0 || lead > 0xF4 || byte(at + 1) < least || byte(at + 1) > most) return 1;
  const bool third = lead >= 0xF0 && byte(at + 2) >= 0x80 && byte(at + 2) <= 0xBF;
  return third ? 3 : 2;
}

/// The text with U+FFFD for what is not UTF-8.
std::string lossy_utf8(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes.substr(at));
    if (length > 0) {
      text += bytes.substr(at, length);
      at += length;
    } else {
      text += "\uFFFD";
      at += broken_length(bytes, at);
    }
  }
  return text;
}

Tokens decoded_by(const ByteLevelDecoder& /*step*/, const Tokens& tokens) {
  std::string bytes;
  std::string part;
  for (const std::string& token : tokens) bytes += token_bytes(token, part) ? part : token;
  return {lossy_utf8(bytes)};
}

int hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// The byte of <0x41>, or -1.
int byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const int high = token[3] == '+' ? 0 : hexadecimal_digit(token[3]);  // Rust's numbers may have a sign
  const int low = hexadecimal_digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

Tokens decoded_by(const ByteFallbackDecoder& /*step*/, const Tokens& tokens) {
  Tokens made;
  std::string held;
  const auto flush = [&] {
    const bool valid = unicode::find_invalid_utf8(held) == std::string_view::npos;
    if (!held.empty() && valid) made.push_back(held);
    if (!valid) made.insert(made.end(), held.size(), "\uFFFD");
    held.clear();
  };
  for (const std::string& token : tokens) {
    const int byte = byte_of(token);
    if (byte >= 0) {
      held += static_cast<char>(byte);
      continue;
    }
    flush();
    made.push_back(token);
  }
  flush();
  return made;
}

Tokens decoded_by(const FuseDecoder& /*step*/, const Tokens& tokens) {
  std::string made;
  for (const std::string& token : tokens) made += token;
  return {made};
}

/// What is said without the space that words were joined with, in this order.
void clean_up(std::string& token) {
  constexpr std::pair<std::string_view, std::string_view> joined[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : joined) replace_all(token, from, to);
}

Tokens decoded_by(const WordPieceDecoder& step, Tokens tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string& token = tokens[i];
    if (i > 0 && token.starts_with(step.prefix))
      token.erase(0, step.prefix.size());
    else if (i > 0)
      token.insert(0, " ");
    if (step.cleanup) clean_up(token);
  }
  return tokens;
}

Tokens decoded_by(const MetaspaceDecoder& step, Tokens tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    replace_all(tokens[i], step.space, i == 0 && step.drop_in_first ? "" : " ");
  }
  return tokens;
}

Tokens decoded_by(const StripDecoder& step, Tokens tokens) {
  const std::size_t size = step.character.size();
  for (std::string& token : tokens) {
    for (std::size_t i = 0; i < step.start && token.starts_with(step.character); ++i) token.erase(0, size);
    for (std::size_t i = 0; i < step.stop && token.ends_with(step.character); ++i) token.resize(token.size() - size);
  }
  return tokens;
}

Tokens decoded_by(const SuffixDecoder& step, Tokens tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    replace_all(tokens[i], step.suffix, i + 1 == tokens.size() ? "" : " ");
  }
  return tokens;
}

Tokens decoded_by(const Replacement& step, Tokens tokens) {
  for (std::string& token : tokens) token = normalize({step}, token);
  return tokens;
}

}  // namespace

std::string decode_tokens(const std::vector<DecoderStep>& steps, std::vector<std::string> tokens) {
  for (const DecoderStep& step : steps) {
    tokens = std::visit([&](const auto& kind) { return decoded_by(kind, std::move(tokens)); }, step);
  }
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

}  // namespace assay
