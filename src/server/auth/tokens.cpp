#include "server/auth/tokens.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <utility>

#include "handoff/tasks/limits.hpp"
#include "tasks/call.hpp"

namespace handoff::server {

namespace {

constexpr std::size_t token_bytes = 32;
constexpr auto fresh = std::chrono::seconds(1);
constexpr std::string_view prefix = "hof_";

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char each : bytes) text += fmt::format("{:02x}", each);
  return text;
}

// A token is as random as can be: nothing is won by a slow hash, or by salt.
std::string hash_of(std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return hexadecimal(digest);
}

bool is_same(std::string_view one, std::string_view other) {
  return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::string random_token() {
  std::array<unsigned char, token_bytes> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw std::runtime_error("there are no random bytes for a token");
  }
  return std::string(prefix) + hexadecimal(bytes);
}

ApiError unauthorized(std::string message) {
  return {.status = 401, .code = "unauthorized", .message = std::move(message)};
}

// What stands behind "Bearer ".
std::optional<std::string_view> bearer(std::string_view authorization) {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size()) return std::nullopt;
  for (std::size_t i = 0; i < scheme.size(); ++i) {
    if ((authorization[i] | 0x20) != (scheme[i] | 0x20)) return std::nullopt;
  }
  return authorization.substr(scheme.size());
}

}  // namespace

std::expected<std::string, tasks::TaskError> make_token(tasks::TasksCore& core, std::string name,
                                                        Role role,
                                                        std::optional<tasks::Time> expires_at) {
  if (const auto checked = tasks::check_queue(name, "name"); !checked) {
    return tasks::bad_request(checked.error().field, checked.error().message);
  }
  std::string token = random_token();
  const tasks::TokenRow row{.name = name,
                            .role = std::string(to_string(role)),
                            .hash = hash_of(token),
                            .created_at = {},
                            .expires_at = expires_at};
  const auto added = tasks::transact<bool>(core, [&](tasks::Transaction& transaction) {
    return std::expected<bool, tasks::TaskError>(transaction.add_token(row));
  });
  if (!added) return std::unexpected(added.error());
  if (*added) return token;
  return std::unexpected(tasks::TaskError{
      .code = tasks::TaskError::Code::conflict,
      .message = fmt::format("there is a token named \"{}\" already: revoke it first, or take "
                             "another name",
                             name),
      .field = "name"});
}

std::expected<void, tasks::TaskError> revoke_token(tasks::TasksCore& core, std::string_view name) {
  const auto removed = tasks::transact<bool>(core, [&](tasks::Transaction& transaction) {
    return std::expected<bool, tasks::TaskError>(transaction.remove_token(name));
  });
  if (!removed) return std::unexpected(removed.error());
  if (*removed) return {};
  return std::unexpected(
      tasks::TaskError{.code = tasks::TaskError::Code::not_found,
                       .message = fmt::format("there is no token named \"{}\"", name),
                       .field = "name"});
}

std::vector<tasks::TokenRow> list_tokens(tasks::TasksCore& core) {
  std::vector<tasks::TokenRow> all;
  core.store().read([&](tasks::Transaction& transaction) { all = transaction.tokens(); });
  return all;
}

// One whose role this version does not know lets nobody in, and is there all the same.
Tokens::List Tokens::read() {
  auto known = std::make_shared<std::vector<Known>>();
  for (tasks::TokenRow& each : list_tokens(core_)) {
    known->push_back({.name = std::move(each.name),
                      .hash = std::move(each.hash),
                      .role = parse_role(each.role).value_or(Role::nobody),
                      .expires_at = each.expires_at});
  }
  return known;
}

// If the store cannot be read now, what was known counts; if nothing was, nobody gets in.
Tokens::List Tokens::list() {
  const auto turn = lock_.hold();
  if (!known_ || now() - *read_at_ > fresh) {
    try {
      known_ = read();
    } catch (const std::exception&) {
      if (!known_) throw;
    }
    read_at_ = now();
    if (!known_->empty()) is_always_needed_ = true;
  }
  return known_;
}

bool Tokens::are_needed() { return !list()->empty() || is_always_needed_; }

std::expected<Tokens::Holder, ApiError> Tokens::holder(std::string_view authorization) {
  const List known = list();
  if (known->empty() && !is_always_needed_) return Holder();
  const auto token = bearer(authorization);
  if (!token) {
    return std::unexpected(
        unauthorized("a token is needed: send `Authorization: Bearer <token>`; `handoff token "
                     "create` makes one"));
  }
  const std::string hash = hash_of(*token);
  const Known* found = nullptr;
  for (const Known& each : *known) {
    if (is_same(each.hash, hash)) found = &each;  // All are looked at, whichever it is.
  }
  if (found == nullptr) return std::unexpected(unauthorized("this token is not known here"));
  if (found->expires_at && *found->expires_at <= core_.clock().now()) {
    return std::unexpected(unauthorized("this token has expired"));
  }
  return Holder{.name = found->name, .role = found->role};
}

}  // namespace handoff::server
