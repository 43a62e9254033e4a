// Tokens, as they are made and taken back by hand.
#include "cli/program.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class TokenCommands : public CliTest {};

TEST_F(TokenCommands, CreateNamesATokenByItsRoleIfNobodyNamesIt) {
  const Ended plain = run({"token", "create", "--role", "produce"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_THAT(plain.out, MatchesRegex("hof_[0-9a-f]+\n"));
  EXPECT_THAT(plain.err, HasSubstr("it is named \"produce-"));
  const auto json = json_of(run({"token", "create", "--role", "work", "--json"}).out);
  const std::string name = text_at(json, "name");
  EXPECT_THAT(name, MatchesRegex("work-[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]"));
  EXPECT_EQ(run({"token", "revoke", name}).code, 0);
}

TEST_F(TokenCommands, CreateRefusesANameThatIsEmpty) {
  EXPECT_EQ(run({"token", "create", "--name", ""}).code, 2);
}

TEST_F(TokenCommands, RevokeNamesInJsonWhomItHasShutOut) {
  ASSERT_EQ(run({"token", "create", "--name", "shop"}).code, 0);
  const Ended gone = run({"token", "revoke", "shop", "--json"});
  EXPECT_EQ(gone.code, 0);
  EXPECT_EQ(gone.out, "{\"name\":\"shop\"}\n");
  EXPECT_EQ(gone.err, "");
  EXPECT_EQ(run({"token", "revoke", "shop", "--json"}).out, "");  // It was not there any more.
}

}  // namespace
}  // namespace handoff::tests
