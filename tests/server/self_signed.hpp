// A certificate for tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace handoff::tests {

// A key and a certificate signed with it, in files that go with this.
class SelfSigned {
 public:
  explicit SelfSigned(const std::string& name) {
    const auto folder = std::filesystem::path(::testing::TempDir());
    certificate = folder / (name + std::to_string(::getpid()) + ".crt");
    key = folder / (name + std::to_string(::getpid()) + ".key");
    EVP_PKEY* const pair = EVP_EC_gen("P-256");
    X509* const signed_by_itself = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(signed_by_itself), 0);
    X509_gmtime_adj(X509_getm_notAfter(signed_by_itself), 3600);
    X509_set_pubkey(signed_by_itself, pair);
    X509_sign(signed_by_itself, pair, EVP_sha256());
    write(key, [&](std::FILE* to) {
      PEM_write_PrivateKey(to, pair, nullptr, nullptr, 0, nullptr, nullptr);
    });
    write(certificate, [&](std::FILE* to) { PEM_write_X509(to, signed_by_itself); });
    X509_free(signed_by_itself);
    EVP_PKEY_free(pair);
  }
  ~SelfSigned() {
    std::filesystem::remove(certificate);
    std::filesystem::remove(key);
  }
  SelfSigned(const SelfSigned&) = delete;
  SelfSigned& operator=(const SelfSigned&) = delete;

  std::string certificate;
  std::string key;

 private:
  template <typename Write>
  static void write(const std::string& path, Write content) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) throw std::runtime_error("cannot write " + path);
    content(file);
    std::fclose(file);
  }
};

}  // namespace handoff::tests
