#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

namespace assay {

// A .npy file (NumPy's format 1.0, 2.0 and 3.0):
//
//   | 0x93 "NUMPY" | major u8 | minor u8 | header length u16 (1.0) or u32 | header | elements, row-major |
//
// The header is a Python literal: {'descr': '<i4', 'fortran_order': False, 'shape': (872, 128), } and spaces. It is
// parsed by its own small grammar, never evaluated.

/// Element types that are read and written.
enum class NpyType : std::uint8_t { boolean, u8, s32, s64, f32, f64 };
/// As the header writes it: "<i4".
const char* descr(NpyType type);
std::size_t size_of(NpyType type);

/// A checked array. `bytes` is aligned for the element type and lives as long as the array (or its moved-to heir).
struct NpyArray {
  std::string name;  ///< Begins every error message.
  std::optional<MappedFile> file;
  NpyType type = NpyType::f32;
  Shape shape;
  std::span<const std::byte> bytes;

  std::int64_t count() const { return element_count(shape); }
  /// Elements as s64; throws a user error for f32 and f64.
  std::vector<std::int64_t> integers() const;
  /// Elements as f64, rounded where an s64 does not fit.
  std::vector<double> numbers() const;
};

/// Maps a file. Throws a user error for anything but a C-order little-endian array of those types that fills the file
/// exactly: "ids.npy: element type '<c8' is not read; read are ...".
NpyArray open_npy(const std::filesystem::path& path);
/// The same of bytes in memory, which must outlive the result and lie at a multiple of 8.
NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name);

/// Writes version 1.0, atomically. `bytes` holds element_count(shape) elements (a defect where it does not).
void write_npy(const std::filesystem::path& path, NpyType type, const Shape& shape, std::span<const std::byte> bytes);

}  // namespace assay
