// Any bytes at all, as requests: at once, and in pieces that the bytes themselves determine. Both must come to the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/parse_all.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t at = 0;
  const auto next_size = [&] { return std::size_t{1} + data[at++ % size] % 61; };
  const auto whole = http_test::parse_at_once(bytes);
  const auto in_pieces = http_test::parse_all(bytes, next_size);
  if (whole.requests != in_pieces.requests) std::abort();
  if ((whole.problem == 0) != (in_pieces.problem == 0)) std::abort();
  return 0;
}
