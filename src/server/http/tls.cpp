#include "server/http/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>

namespace handoff::server {

namespace {

// -- A socket, as OpenSSL sees it -----------------------------------------------------------------
// Its own writes with write(), which ends the program with SIGPIPE when the client is gone.

int socket_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

int finish(BIO* bio, ssize_t count, void (*ask_again)(BIO*)) {
  BIO_clear_retry_flags(bio);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) ask_again(bio);
  return static_cast<int>(count);
}

int write_socket(BIO* bio, const char* bytes, int size) {
  const auto sent =
      ::send(socket_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
  return finish(bio, sent, [](BIO* again) { BIO_set_retry_write(again); });
}

int read_socket(BIO* bio, char* to, int size) {
  const auto received = ::recv(socket_of(bio), to, static_cast<std::size_t>(size), MSG_DONTWAIT);
  if (received == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return finish(bio, received, [](BIO* again) { BIO_set_retry_read(again); });
}

long control_socket(BIO* bio, int command, long /*number*/, void* /*pointer*/) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_socket_method() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "handoff socket");
  if (method == nullptr) throw std::bad_alloc();
  BIO_meth_set_write(method, write_socket);
  BIO_meth_set_read(method, read_socket);
  BIO_meth_set_ctrl(method, control_socket);
  return method;
}

BIO* make_bio(int socket) {
  static BIO_METHOD* const method = make_socket_method();  // Until the program ends.
  BIO* const bio = BIO_new(method);
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
  BIO_set_init(bio, 1);
  return bio;
}

// -- The certificate ------------------------------------------------------------------------------

[[noreturn]] void fail(const std::string& what) {
  const auto error = ERR_peek_last_error();
  const char* const reason = ERR_reason_error_string(error);
  const bool is_system = ERR_SYSTEM_ERROR(error);
  ERR_clear_error();
  if (is_system) throw std::runtime_error(what + ": the file cannot be read");
  throw std::runtime_error(what + ": " + (reason == nullptr ? "unknown error" : reason));
}

// A key under a password would be asked for on the terminal.
int no_password(char* /*to*/, int /*size*/, int /*is_writing*/, void* /*data*/) { return 0; }

void load(SSL_CTX* context, const std::string& certificate, const std::string& key) {
  SSL_CTX_set_default_passwd_cb(context, no_password);
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1) {
    fail("cannot use the TLS certificate " + certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    fail("cannot use the TLS key " + key + " with the certificate " + certificate);
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    fail("the TLS key " + key + " does not belong to the certificate " + certificate);
  }
}

}  // namespace

void TlsContext::Free::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
void TlsSession::Free::operator()(SSL* session) const { SSL_free(session); }

TlsContext::TlsContext(const std::string& certificate, const std::string& key)
    : context_(SSL_CTX_new(TLS_server_method())) {
  if (!context_) throw std::bad_alloc();
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF |
                                          SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context_.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context_.get(),
                                 SSL_SESS_CACHE_OFF);  // Clients keep theirs, in tickets.
  load(context_.get(), certificate, key);
}

TlsSession::TlsSession(const TlsContext& context, int socket)
    : session_(SSL_new(context.context_.get())) {
  if (!session_) throw std::bad_alloc();
  BIO* const bio = make_bio(socket);
  SSL_set_bio(session_.get(), bio, bio);
  SSL_set_accept_state(session_.get());
}

IoResult TlsSession::result_of(int returned, std::size_t bytes) const {
  using enum IoResult::State;
  if (returned > 0) return {.state = done, .bytes = bytes};
  switch (SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_WANT_READ: return {.state = wants_read};
    case SSL_ERROR_WANT_WRITE: return {.state = wants_write};
    case SSL_ERROR_ZERO_RETURN: return {.state = ended};
    default: return {.state = failed};
  }
}

IoResult TlsSession::handshake() {
  ERR_clear_error();
  return result_of(SSL_do_handshake(session_.get()), 0);
}

IoResult TlsSession::read(char* to, std::size_t size) {
  ERR_clear_error();
  std::size_t bytes = 0;
  const int returned = SSL_read_ex(session_.get(), to, size, &bytes);
  return result_of(returned, bytes);
}

IoResult TlsSession::write(std::string_view bytes) {
  ERR_clear_error();
  std::size_t written = 0;
  const int returned = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written);
  return result_of(returned, written);
}

void TlsSession::end() {
  ERR_clear_error();
  if (SSL_is_init_finished(session_.get()) == 1) SSL_shutdown(session_.get());
  ERR_clear_error();
}

}  // namespace handoff::server
