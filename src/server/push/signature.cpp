#include "server/push/signature.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <stdexcept>

namespace handoff::server {

std::string signature(std::string_view secret, std::chrono::sys_seconds time,
                      std::string_view body) {
  const auto seconds = time.time_since_epoch().count();
  const std::string text = fmt::format("{}.{}", seconds, body);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &size) == nullptr) {
    throw std::runtime_error("a request cannot be signed");
  }
  std::string result = fmt::format("t={},v1=", seconds);
  for (unsigned int i = 0; i < size; ++i) result += fmt::format("{:02x}", digest[i]);
  return result;
}

}  // namespace handoff::server
