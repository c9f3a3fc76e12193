#pragma once

#include <cstdint>
#include <string>

namespace assay {

/// Bytes for people: "91.3 MB" (10^6), "1.2 GB", "512 B". Decimal units, as disks and model cards count.
std::string format_bytes(double bytes);
/// Milliseconds for people, three significant digits: "0.0123", "1.23", "12.3", "1234".
std::string format_significant(double value, int digits = 3);
/// A whole number with thousands separators: "124,439,808".
std::string format_count(std::int64_t count);

}  // namespace assay
