// Tokens: what a client shows to be let in. They are made from 256 random bits, shown once, and kept as hashes.
//
//   auto made = make_token(core, "shop", Role::produce, {});        // std::expected: the token itself, "hof_..."
//   Tokens tokens(core);
//   tokens.check("Bearer hof_...", Role::work);                     // nothing if it may; otherwise why not
//
// The list is read from the store about once a second, so that what another process adds or revokes counts soon.
// Thread safety: any member, any thread.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/mutex.hpp"
#include "server/api/error.hpp"
#include "server/auth/role.hpp"
#include "tasks/core.hpp"

namespace handoff::server {

// `name` is for people: 1 to 64 of [A-Za-z0-9._-]. `conflict` if it is taken.
std::expected<std::string, tasks::TaskError> make_token(tasks::TasksCore& core, std::string name,
                                                        Role role,
                                                        std::optional<tasks::Time> expires_at);
std::expected<void, tasks::TaskError> revoke_token(tasks::TasksCore& core, std::string_view name);
std::vector<tasks::TokenRow> list_tokens(tasks::TasksCore& core);

class Tokens {
 public:
  explicit Tokens(tasks::TasksCore& core) : core_(core) {}

  // From now on nobody is let in without one, also if there are none: for a server that others can reach.
  void need_always() { is_always_needed_ = true; }

  struct Holder {
    std::string name;  // Empty if nobody needs a token here.
    Role role = Role::admin;
  };
  // Who that is, by the header; or 401.
  std::expected<Holder, ApiError> holder(std::string_view authorization);
  // Whether anybody needs one. Without any tokens nobody does; but once there was one, its revocation opens nothing.
  bool are_needed();

 private:
  struct Known {
    std::string name;
    std::string hash;
    Role role;
    std::optional<tasks::Time> expires_at;
  };
  using List = std::shared_ptr<const std::vector<Known>>;
  List list();
  List read();

  tasks::TasksCore& core_;
  detail::atomic<bool> is_always_needed_{false};
  Mutex lock_{{.name = "tokens"}};
  List known_;
  std::optional<TimePoint> read_at_;
};

}  // namespace handoff::server
