#include "base/hash.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <iterator>

#include "base/error.h"
#include "base/file.h"
#include "base/handle.h"

namespace assay {
namespace {

/// libcrypto because it uses the processor's SHA instructions: gigabytes of weights are hashed at start.
using Context = Handle<EVP_MD_CTX*, ::EVP_MD_CTX_free>;

Context begin() {
  Context context(::EVP_MD_CTX_new());
  ASSAY_ASSERT(context && ::EVP_DigestInit_ex(context.get(), ::EVP_sha256(), nullptr) == 1);
  return context;
}

void add(const Context& context, std::span<const std::byte> bytes) {
  ASSAY_ASSERT(::EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1);
}

std::string finish(const Context& context) {
  std::array<unsigned char, 32> digest{};
  ASSAY_ASSERT(::EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1);
  std::string hex;
  for (const unsigned char byte : digest) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
  return hex;
}

}  // namespace

std::string sha256_hex(std::span<const std::byte> bytes) {
  const Context context = begin();
  add(context, bytes);
  return finish(context);
}

std::string sha256_file(const std::filesystem::path& path) {
  const Context context = begin();
  read_pieces(path, [&](std::span<const std::byte> piece) { add(context, piece); });
  return finish(context);
}

}  // namespace assay
