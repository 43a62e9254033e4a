// The exchange: an actor for each instrument, which has its book to itself; one for each trader; and the ticker.
//
//   gateways (threads) --Limit, Cancel--> instruments --Fill, Cancelled--> traders
//                                                     --Print-----------> ticker
//
// All mailboxes are bounded, and who finds one full waits: gateways as threads, an instrument by taking no further order until what it has
// to tell is told. Nothing goes back the other way, so nobody waits in a ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "book.hpp"
#include "handoff/actor.hpp"
#include "order.hpp"

namespace order_book {

struct Options {
  std::uint64_t instruments = 100;
  std::uint64_t orders = 2'000'000;
  std::uint64_t gateways = 2;
  std::uint64_t traders = 50;
  std::uint64_t mailbox = 1'000;  // Messages that may wait for an actor.
  std::uint64_t workers = 2;      // Threads that run the actors.
  bool shows_ticker = false;
};

// What is left of an actor, for the check afterwards. The actor alone writes it, and we read it once that has stopped.
struct InstrumentRecord {
  std::vector<Order> journal;  // All orders, as they were handled.
  std::vector<Trade> trades;
  std::vector<Limit> book;   // What waited at the end.
  std::uint64_t untold = 0;  // Reports that were refused.
};
struct Account {
  std::int64_t shares = 0;
  std::int64_t money = 0;
  std::uint64_t fills = 0;
  std::uint64_t cancelled = 0;  // Shares.

  void add(const Fill& fill);
  friend bool operator==(const Account&, const Account&) = default;
};
struct Tape {
  std::vector<Print> last;  // By instrument.
  std::uint64_t trades = 0;
  bool is_in_order = true;  // Of each instrument.
};

class Trader : public handoff::Actor<Trader, Fill, Cancelled> {
 public:
  explicit Trader(std::shared_ptr<Account> account) : account_(std::move(account)) {}
  void on(const Fill& fill) { account_->add(fill); }
  void on(const Cancelled& cancelled) { account_->cancelled += cancelled.quantity; }

 private:
  const std::shared_ptr<Account> account_;
};

struct Show {};  // To itself, from time to time.

class Ticker : public handoff::Actor<Ticker, Print, Show> {
 public:
  Ticker(std::shared_ptr<Tape> tape, bool is_shown) : tape_(std::move(tape)), shows_(is_shown) {}
  void on_start();
  void on(const Print& print);
  void on(Show);

 private:
  const std::shared_ptr<Tape> tape_;
  const bool shows_;
  const handoff::TimePoint began_ = handoff::now();
};

// Whom an instrument tells.
struct Listeners {
  std::vector<handoff::Address<Fill, Cancelled>> traders;
  handoff::Address<Print> ticker;
};

class Instrument : public handoff::Actor<Instrument, Limit, Cancel> {
 public:
  Instrument(std::uint32_t number, std::shared_ptr<const Listeners> listeners,
             std::shared_ptr<InstrumentRecord> record)
      : number_(number), listeners_(std::move(listeners)), record_(std::move(record)) {}
  void on(const Limit& order);
  void on(const Cancel& cancel);
  void on_stop() { record_->book = book_.waiting(); }

 private:
  void tell(const Trade& trade, Side came, std::uint64_t number);

  const std::uint32_t number_;
  const std::shared_ptr<const Listeners> listeners_;
  const std::shared_ptr<InstrumentRecord> record_;
  Book book_;
};

class Exchange {
 public:
  explicit Exchange(const Options& options);

  // From any gateway. Waits while the instrument has too much to do.
  std::expected<void, handoff::Refusal> send(std::uint32_t instrument, const Order& order,
                                             const std::stop_token& stop);

  // Handles every order that was accepted, tells everybody, and ends. Returns what went wrong, or nothing.
  std::string close();

  // Once it is closed.
  const InstrumentRecord& instrument(std::size_t number) const { return *records_[number]; }
  const Account& account(std::size_t trader) const { return *accounts_[trader]; }
  const Tape& tape() const { return *tape_; }

 private:
  std::vector<std::shared_ptr<InstrumentRecord>> records_;
  std::vector<std::shared_ptr<Account>> accounts_;
  const std::shared_ptr<Tape> tape_ = std::make_shared<Tape>();
  handoff::ActorSystem system_;
  std::vector<handoff::ActorRef<Instrument>> instruments_;
};

}  // namespace order_book
