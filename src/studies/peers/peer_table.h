#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// Python packages that peers are run with: an environment of their own below the cache folder.
struct PeerEnvironment {
  const char* name;
  const char* on;  ///< The environment whose packages it finds too; null: none.
  std::span<const char* const> packages;
  const char* compiled = nullptr;  ///< The one of them that has no wheel and is compiled here; null: none.
  const char* settings = nullptr;  ///< "NAME=value" of its compiling.
};

/// What a worker is handed of a precision: words of its peer's own library, which it finds there and in no list of its
/// own. Null: nothing is said of that.
struct PeerWords {
  /// Of weights or of products: torch's "bfloat16", OpenVINO's "bf16". Where OpenVINO has none, bf16 if the processor
  /// has instructions for it, else f32; llama.cpp's stand in the file.
  const char* dtype = nullptr;
  const char* autocast = nullptr;   ///< The dtype that products are cast to.
  const char* quantised = nullptr;  ///< Of its quantiser: "qint8", "INT4_SYM".
  const char* cache = nullptr;      ///< The dtype of keys and values.
};

/// A precision that a peer can be asked for.
struct PeerPrecision {
  const char* precision;  ///< A row of the precision table.
  PeerWords words;
  const char* told;  ///< The same for people, with what the worker does whatever the precision.
  /// What it makes of calibration data, for the row's `calibration`; null: it takes none.
  const char* calibrated = nullptr;
};

/// What a peer is timed at.
enum class PeerUse : std::uint8_t {
  passes,      ///< Whole forward passes.
  generation,  ///< A prompt and new tokens one by one, through a cache of its own.
  training     ///< Steps with AdamW.
};

/// What a peer opens.
enum class PeerInput : std::uint8_t {
  folder,  ///< A checkpoint's folder, as transformers does.
  gguf     ///< A GGUF file in the asked precision.
};

/// Another program that runs the same models.
struct Peer {
  const char* name;
  const char* title;
  const char* worker;                              ///< Its module among the workers.
  const char* environment;                         ///< A name among the environments.
  const char* told;                                ///< How it is run, whatever the precision.
  std::span<const PeerPrecision> passes;           ///< What it can be asked for.
  std::span<const PeerPrecision> generation = {};  ///< The same of generation; empty: it is not timed at that.
  std::span<const PeerPrecision> training = {};
  PeerInput input = PeerInput::folder;
};

std::span<const Peer> peers();
std::span<const PeerEnvironment> peer_environments();

/// Throws a user error that lists the names for one that is none of them, Error(lacking) with the reason for a program
/// that is known not to be had.
const Peer& find_peer(std::string_view name);
/// The same for one that is not timed at that.
const Peer& find_peer(std::string_view name, PeerUse use);
std::span<const PeerPrecision> precisions_of(const Peer& peer, PeerUse use);
const PeerEnvironment& environment_of(const Peer& peer);
/// What the peer is told for that precision; null where it cannot be asked for it.
const PeerPrecision* peer_precision(const Peer& peer, std::string_view precision, PeerUse use);

/// "torch 2.15.0, transformers 5.24.0; eager; bfloat16 weights": for records.
std::string peer_settings(const Peer& peer, std::string_view precision, PeerUse use);
/// "fp32, bf16, fp16": what it can be asked for.
std::string peer_precision_names(const Peer& peer, PeerUse use);

}  // namespace assay
