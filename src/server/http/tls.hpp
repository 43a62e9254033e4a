// TLS over a socket that does not block. Directly on OpenSSL: so a connection that is idle holds no buffers.
#pragma once

#include <openssl/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/io_result.hpp"

namespace handoff::server {

// The certificate and the rules: TLS 1.2 or later.
class TlsContext {
 public:
  // Paths of PEM files. Throws std::runtime_error, saying which of them cannot be used and why.
  TlsContext(const std::string& certificate, const std::string& key);

 private:
  friend class TlsSession;
  struct Free {
    void operator()(SSL_CTX* context) const;
  };
  std::unique_ptr<SSL_CTX, Free> context_;
};

// One connection, the server's side of it.
class TlsSession {
 public:
  // The socket is the caller's, and stays open as long as this.
  TlsSession(const TlsContext& context, int socket);

  IoResult handshake();
  IoResult read(char* to, std::size_t size);
  IoResult write(std::string_view bytes);
  // Tells the other side that nothing more will come, if that can be done at once.
  void end();

 private:
  IoResult result_of(int returned, std::size_t bytes) const;

  struct Free {
    void operator()(SSL* session) const;
  };
  std::unique_ptr<SSL, Free> session_;
};

}  // namespace handoff::server
