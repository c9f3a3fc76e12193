#pragma once

// For the tests of models and of what runs them.

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "model/config.h"

namespace assay {

/// A GPT-2 of two layers that takes no time.
inline ModelConfig small_gpt2() {
  ModelConfig c;
  c.vocab_size = 97;
  c.context = 24;
  c.d_model = 32;
  c.layers = 2;
  c.heads = c.kv_heads = 4;
  c.head_dim = 8;
  c.d_ff = 72;
  c.activation = Activation::gelu_tanh;
  return c;
}

/// The message of the user error that `action` throws; fails the test where it throws none or more than one line.
template <typename Action>
std::string user_fault(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::user) << error.what();
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_LT(message.size(), 400U) << message;
    return message;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// A fresh folder, gone with the object.
class ModelFolder {
 public:
  ModelFolder() {
    std::string name = testing::TempDir() + "/assay mödel XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no temporary folder";
    path_ = name;
  }
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;
  ~ModelFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay
