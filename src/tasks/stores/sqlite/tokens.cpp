// Who may use a server of this store.
#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

bool SqliteTransaction::add_token(const TokenRow& token) {
  return execute(database(), "insert or ignore into handoff_token values(?, ?, ?, ?, ?)",
                 std::string_view(token.name), std::string_view(token.role),
                 std::string_view(token.hash), now_, token.expires_at) > 0;
}

bool SqliteTransaction::remove_token(std::string_view name) {
  return execute(database(), "delete from handoff_token where name = ?", name) > 0;
}

std::vector<TokenRow> SqliteTransaction::tokens() {
  std::vector<TokenRow> all;
  Query query(database(),
              "select name, role, hash, created_at, expires_at from handoff_token order by name");
  while (query.next()) {
    all.push_back({.name = std::string(query.text(0)),
                   .role = std::string(query.text(1)),
                   .hash = std::string(query.text(2)),
                   .created_at = query.time(3),
                   .expires_at = query.time_if_any(4)});
  }
  return all;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
