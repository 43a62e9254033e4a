#include "self_test.hpp"

#include <fmt/core.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shop.hpp"
#include "sink.hpp"
#include "support/slow_service.hpp"

namespace signup {

namespace {

using namespace std::chrono_literals;

class Checks {
 public:
  void that(bool is_right, std::string_view what) {
    fmt::print("{}  {}\n", is_right ? "ok   " : "WRONG", what);
    wrong_ += is_right ? 0 : 1;
  }
  int status() const { return wrong_ == 0 ? 0 : 1; }

 private:
  int wrong_ = 0;
};

// Waits for a fact; a minute at most.
template <typename Fact>
bool eventually(Fact fact) {
  example::SlowService pause;
  for (const auto end = handoff::now() + 1min; handoff::now() < end; pause.answers_after(1ms)) {
    if (fact()) return true;
  }
  return false;
}

EmailOptions impatient(const Port& port) {
  return {.server = {.host = "127.0.0.1", .port = port.number()},
          .most_tries = 1'000,
          .first_delay = 1ms,
          .most_delay = 50ms};
}

void sign_up(Shop& shop, std::uint64_t people, std::string_view name = "Ada") {
  for (std::uint64_t i = 0; i < people; ++i) {
    shop.sign_ups().sign_up(name, fmt::format("ada{}@example.com", shop.sign_ups().count()));
  }
}

// Every sign-up has one outcome.
bool adds_up(Shop& shop) {
  const auto outcomes = shop.outcomes().snapshot();
  return outcomes.all() == shop.sign_ups().count() && outcomes.twice == 0;
}

// Each mail that counts as sent has arrived, with its text. A server that crashes after it has kept a mail, and before it
// says so, gets it again: so there may be some that came twice.
bool have_arrived(Shop& shop, const Inbox& inbox, std::string_view name) {
  std::map<std::string, Received> by_recipient;
  for (auto& each : inbox.mails()) by_recipient.emplace(each.to.at(0), each);
  for (const auto id : shop.outcomes().all_with(Outcome::sent)) {
    const auto address = fmt::format("ada{}@example.com", id);
    const auto found = by_recipient.find(address);
    if (found == by_recipient.end()) return false;
    const Mail mail{
        .id = id, .to = EmailAddress::parse(address).value(), .name = std::string(name)};
    if (found->second.text != text_of(mail) || found->second.from != sender_address) return false;
  }
  return true;
}

void test_a_server_that_goes_down(Checks& checks) {
  Inbox inbox;
  const Port port;
  std::optional<Sink> server(std::in_place, port, inbox);
  Shop shop(impatient(port));
  const auto sent = [&] { return shop.outcomes().snapshot().of(Outcome::sent); };
  constexpr std::string_view name = ".net Æon\xF0\x9F\x98\x80";  // A line that begins with a dot.

  sign_up(shop, 50, name);
  checks.that(eventually([&] { return sent() == 50; }), "mails are sent");
  checks.that(inbox.connections() == 1, "by one connection");

  sign_up(shop, 50, name);
  server.reset();  // Some of them are under way.
  sign_up(shop, 50, name);
  const auto tries = shop.outcomes().snapshot().failed_tries;
  checks.that(eventually([&] { return shop.outcomes().snapshot().failed_tries >= tries + 3; }),
              "the server is down: mails wait, and are tried again and again");
  checks.that(shop.outcomes().snapshot().of(Outcome::failed) == 0, "none has failed meanwhile");

  server.emplace(port, inbox);
  checks.that(eventually([&] { return sent() == 150; }), "the server is back: all are sent");
  checks.that(have_arrived(shop, inbox, name), "each has arrived, with the text it should have");

  server.reset();
  server.emplace(port, inbox);
  sign_up(shop, 1, name);
  checks.that(eventually([&] { return sent() == 151; }), "a connection that broke is made anew");
  checks.that(shop.end(handoff::finish_within(1min)).is_complete(), "it ends with nothing left");
  checks.that(adds_up(shop), "signed up = sent + failed + handed back");
}

void test_what_the_server_says(Checks& checks) {
  Inbox inbox;
  const Port port;
  const Sink server(port, inbox);
  Shop shop(impatient(port));
  shop.sign_ups().sign_up("Nobody", "nobody@example.com");
  shop.sign_ups().sign_up("Late", "late@example.com");
  shop.sign_ups().sign_up("Ada", "ada@example.com");
  const auto all = [&] { return shop.outcomes().snapshot(); };
  checks.that(eventually([&] { return all().all() == 3; }), "every mail has its outcome");
  checks.that(all().whys.contains("the server said 550") && all().of(Outcome::failed) == 1,
              "refused for ever: failed at once");
  checks.that(all().of(Outcome::sent) == 2 && all().failed_tries == 1 && inbox.size() == 2,
              "told to come later: sent later");
}

void test_limits(Checks& checks) {
  const Port nobody;
  auto options = impatient(nobody);
  options.most_tries = 3;
  options.backlog = 5;
  Shop shop(options);
  sign_up(shop, 50);
  checks.that(eventually([&] { return shop.outcomes().snapshot().all() == 50; }),
              "no server at all: every mail fails after a while");
  const auto outcomes = shop.outcomes().snapshot();
  checks.that(outcomes.of(Outcome::failed) == 50 &&
                  outcomes.whys.contains("Couldn't connect to server") &&
                  outcomes.whys.contains("too many wait for the server"),
              "after so many tries, or because too many wait");
  checks.that(shop.end(handoff::finish_within(1min)).is_complete() && adds_up(shop),
              "signed up = failed");
}

void test_an_end_without_a_server(Checks& checks) {
  const Port nobody;
  auto options = impatient(nobody);
  options.first_delay = options.most_delay = 1h;
  Shop shop(options);
  sign_up(shop, 30);
  shop.end(handoff::finish_within(1min));
  sign_up(shop, 1);  // Too late.
  checks.that(shop.outcomes().snapshot().of(Outcome::handed_back) == 31 && adds_up(shop),
              "ended while the server is down: all are handed back");

  Shop other(options);
  sign_up(other, 30);
  other.end(handoff::interrupt());
  checks.that(other.outcomes().snapshot().of(Outcome::handed_back) == 30 && adds_up(other),
              "the same if it is interrupted, wherever the mails are");
}

void test_addresses(Checks& checks) {
  using namespace std::string_view_literals;
  const Port nobody;
  Shop shop(impatient(nobody));
  bool all_refused = true;
  for (const auto text :
       {""sv, "ada"sv, "@example.com"sv, "ada@"sv, "ada@example.com\r\nRCPT TO:<eve@example.com>"sv,
        "ada@example.com\n"sv, "ada@exam\0ple.com"sv, "ada@example.com>"sv, "<ada@example.com"sv,
        "ada @example.com"sv, "ada@ex..com"sv, "\"ada\"@example.com"sv, "ada@eve@example.com"sv}) {
    all_refused &= shop.sign_ups().sign_up("Ada", text) == Answer::bad_address;
  }
  checks.that(all_refused, "addresses with line ends, brackets and the like are refused");
  checks.that(shop.sign_ups().sign_up("Ada\r\nBcc: eve@example.com", "ada@example.com") ==
                      Answer::bad_name &&
                  shop.sign_ups().count() == 0,
              "and so are names with line ends");
}

void test_the_server_itself(Checks& checks) {
  Inbox inbox;
  Dialogue dialogue(inbox);
  const auto said = [&](std::string_view line) { return dialogue.hear(line).substr(0, 3); };
  bool is_right = said("MAIL FROM:<a@b>\r\n") == "503" && said("EHLO x\r\n") == "250" &&
                  said("RCPT TO:<a@b>\r\n") == "503" && said("DATA\r\n") == "503" &&
                  said("mail from:<a@b> SIZE=9\r\n") == "250" && said("RCPT TO:<c@d>\r\n") == "250";
  is_right &= said("DATA\r\n") == "354" && said("..\r\n.x\n.\n\r\n\r\n.\r").empty() &&
              said("\n") == "250" && inbox.mails().at(0).text == ".\r\nx\n.\n\r\n\r\n";
  is_right &= said("RSET\r\nNOOP\r\n") == "250" && said("VRFY x\r\n") == "502" &&
              said("QUIT\r\nNOOP\r\n") == "221" && dialogue.is_over();
  checks.that(is_right, "the test server speaks SMTP");
}

}  // namespace

int self_test() {
  Checks checks;
  test_the_server_itself(checks);
  test_addresses(checks);
  test_what_the_server_says(checks);
  test_a_server_that_goes_down(checks);
  test_limits(checks);
  test_an_end_without_a_server(checks);
  return checks.status();
}

}  // namespace signup
