// People sign up, and get a mail. Who signs up does not wait for the mail server: an actor does, also while that server is
// down. See README.md.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "handoff/signals.hpp"
#include "self_test.hpp"
#include "shop.hpp"
#include "sink.hpp"
#include "support/command_line.hpp"
#include "support/slow_service.hpp"
#include "support/terminal.hpp"
#include "support/waiting_times.hpp"

namespace {

using namespace std::chrono_literals;
using example::for_people;
using example::Terminal;
using signup::Outcome;
using signup::Shop;

struct Options {
  std::string smtp = "own";
  std::uint64_t people = 1'000;
  std::uint64_t rate = 200;  // A second.
  double up = 1.5;           // Seconds until the own server goes down.
  double outage = 2;         // Seconds until it is back.
  double patience = 20;      // Seconds, after the last has signed up.
};

handoff::Duration seconds(double count) {
  return std::chrono::duration_cast<handoff::Duration>(std::chrono::duration<double>(count));
}

// A server of our own, which is down for a while in the middle.
class OwnServer {
 public:
  explicit OwnServer(const Options& options) : options_(options) { sink_.emplace(port_, inbox_); }

  std::uint16_t port() const { return port_.number(); }
  const signup::Inbox& inbox() const { return inbox_; }

  void set_time(handoff::Duration elapsed) {
    const bool is_down = elapsed >= seconds(options_.up) &&
                         elapsed < seconds(options_.up) + seconds(options_.outage);
    if (is_down && sink_) {
      sink_.reset();
      fmt::print("{:>7}  the mail server is down\n", for_people(elapsed));
    } else if (!is_down && !sink_) {
      sink_.emplace(port_, inbox_);
      fmt::print("{:>7}  the mail server is back\n", for_people(elapsed));
    }
  }

 private:
  const Options& options_;
  signup::Inbox inbox_;
  signup::Port port_;
  std::optional<signup::Sink> sink_;
};

class Demonstration {
 public:
  explicit Demonstration(const Options& options)
      : options_(options),
        own_server_(options.smtp == "own" ? std::make_unique<OwnServer>(options) : nullptr),
        shop_({.server = own_server_
                             ? signup::SmtpServer{.host = "127.0.0.1", .port = own_server_->port()}
                             : signup::SmtpServer::parse(options.smtp).value()}) {}

  // False if a mail is not accounted for.
  bool run(const std::stop_token& stop, const Terminal& terminal) {
    let_people_come(stop);
    wait_for_mails(stop);
    fmt::print("{}", stop.stop_requested() ? "\nYou stopped it.\n" : "");
    const auto report = shop_.end(handoff::finish_within(10s).then_interrupt());
    return tell(report, terminal);
  }

 private:
  handoff::Duration elapsed() const { return handoff::now() - began_; }

  void let_people_come(const std::stop_token& stop) {
    for (std::uint64_t person = 0; person < options_.people; ++person) {
      const auto comes = began_ + handoff::Duration(1s) * static_cast<std::int64_t>(person) /
                                      static_cast<std::int64_t>(options_.rate);
      if (!network_.answers_at(comes, stop)) return;
      const auto address = fmt::format("person{}@example.com", person);
      const auto came = handoff::now();
      shop_.sign_ups().sign_up(fmt::format("Person {}", person), address);
      answered_.add(handoff::now() - came);
      look();
    }
  }

  void wait_for_mails(const std::stop_token& stop) {
    const auto end = handoff::now() + seconds(options_.patience);
    while (handoff::now() < end && network_.answers_after(10ms, stop)) {
      look();
      if (shop_.outcomes().snapshot().all() == shop_.sign_ups().count()) return;
    }
  }

  void look() {
    if (own_server_) own_server_->set_time(elapsed());
    if (elapsed() < next_line_) return;
    next_line_ += 500ms;
    const auto outcomes = shop_.outcomes().snapshot();
    fmt::print("{:>7}  signed up {:>5}  sent {:>5}  failed {:>3}  wait for the server {:>4}\n",
               for_people(elapsed()), for_people(shop_.sign_ups().count()),
               for_people(outcomes.of(Outcome::sent)), outcomes.of(Outcome::failed),
               outcomes.waiting);
    std::fflush(stdout);
  }

  bool tell(const handoff::ActorShutdownReport& report, const Terminal& terminal) {
    const auto outcomes = shop_.outcomes().snapshot();
    const auto came = shop_.sign_ups().count();
    fmt::print("\n  {:>6}  signed up: half were answered within {}, the last after {}\n",
               for_people(came), for_people(answered_.of(0.5)), for_people(answered_.of(1)));
    fmt::print("  {:>6}  mails were sent", for_people(outcomes.of(Outcome::sent)));
    if (own_server_) {
      const auto connections = own_server_->inbox().connections();
      fmt::print(", by {} connection{}", connections, connections == 1 ? "" : "s");
    }
    fmt::print("; {} tries were in vain\n", for_people(outcomes.failed_tries));
    fmt::print("  {:>6}  failed\n", for_people(outcomes.of(Outcome::failed)));
    for (const auto& [why, count] : outcomes.whys) fmt::print("  {:>15}  {}\n", count, why);
    fmt::print("  {:>6}  were handed back at the end\n",
               for_people(outcomes.of(Outcome::handed_back)));
    fmt::print("\nThe system's report: {}\n", to_string(report));
    const bool is_right = outcomes.all() == came && outcomes.twice == 0;
    fmt::print("{}\n", is_right ? terminal.green("Every mail is accounted for.")
                                : terminal.red("SOMETHING IS WRONG: a mail is not accounted for."));
    return is_right;
  }

  const Options& options_;
  const std::unique_ptr<OwnServer> own_server_;
  Shop shop_;
  example::SlowService network_;
  example::WaitingTimes answered_;
  const handoff::TimePoint began_ = handoff::now();
  handoff::Duration next_line_ = 500ms;
};

example::CommandLine command_line(Options& options) {
  example::CommandLine line("signup-email-actor",
                            "people sign up, and each gets a mail.\n\n"
                            "Signing up hands the mail to an actor, and is done. The actor owns "
                            "the connection to the mail "
                            "server, and\nwaits for it while it is down.");
  line.add("--smtp", "the mail server", options.smtp,
           "own (one in this program, which goes down for a while), or host:port",
           [](std::string_view text) {
             return text == "own" || signup::SmtpServer::parse(text).has_value();
           });
  line.add("--people", "people who sign up", options.people, 1, 100'000);
  line.add("--rate", "people a second", options.rate, 1, 10'000);
  line.add("--up", "seconds until the own server goes down", options.up, 0, 600);
  line.add("--outage", "seconds until it is back", options.outage, 0, 600);
  line.add("--patience", "seconds to wait for mails after the last has signed up", options.patience,
           0, 3'600);
  line.add_note(
      "Mails go from welcome@example.com to person0@example.com and so on, names that belong to "
      "nobody.\nCtrl-C stops it: what was not sent is handed back, and every mail is accounted "
      "for.");
  line.add_example("signup-email-actor", "a server of its own, down for two seconds");
  line.add_example("signup-email-actor --outage 60 --patience 3", "not back in time");
  line.add_example("signup-email-actor --smtp 127.0.0.1:2525", "a server of yours");
  return line;
}

}  // namespace

int main(int count, char** values) {
  Options options;
  auto line = command_line(options);
  if (const auto status = line.read(count, values)) return *status;
  if (line.is_test()) return signup::self_test();

  const auto stop = handoff::stop_on_signals(SIGTERM, SIGINT);
  const Terminal terminal(Terminal::best_mode(72, 4));
  Demonstration demonstration(options);
  return demonstration.run(stop, terminal) ? 0 : 1;
}
