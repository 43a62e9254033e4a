// The code of docs/guide/three-ways.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <exception>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "handoff/job.hpp"
#include "handoff/lazy.hpp"
#include "handoff/offload.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/when.hpp"

namespace {

// -- The job --------------------------------------------------------------------------------------

struct User {
  int id = 0;
  std::string name;
};

// Slow, and made to be called on a thread that may wait: a database.
User load_user(int id) {
  if (id < 0) throw std::runtime_error("no such user");
  return {.id = id, .name = "Ada"};
}
int count_orders(int user) { return user + 1; }
int count_offers(int user) { return user + 2; }

std::string render(const User& user, int orders, int offers) {
  return user.name + ": " + std::to_string(orders) + " orders, " + std::to_string(offers) +
         " offers";
}

std::string error_page(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return std::string("sorry: ") + known.what();
  }
}

// -- Callbacks ------------------------------------------------------------------------------------

// A thread that runs one thing after the other, as a server or a user interface does.
class Loop {
 public:
  void post(handoff::Job job) { (void)jobs_.put(std::move(job)); }
  void run_until(const bool& is_done) {
    while (!is_done) {
      if (auto job = jobs_.take()) (*job)();
    }
  }

 private:
  handoff::BlockingQueue<handoff::Job> jobs_{{.capacity = 100, .name = "loop"}};
};

// All of this runs on the loop's thread, except the functions that load: so nothing needs a lock.
class PageByCallbacks : public std::enable_shared_from_this<PageByCallbacks> {
 public:
  using Done = std::function<void(std::string page)>;
  PageByCallbacks(handoff::WorkerPool& pool, Loop& loop, Done done)
      : pool_(pool), loop_(loop), done_(std::move(done)) {}

  void start(int id) {
    load([id] { return load_user(id); }, &PageByCallbacks::has_user);
  }

 private:
  template <typename Work, typename T>
  void load(Work work, void (PageByCallbacks::*then)(T)) {
    const auto back = [this](handoff::Job job) { loop_.post(std::move(job)); };
    const auto done = [self = shared_from_this(), then](handoff::Offloaded<T> result) {
      if (!result) return self->finish(error_page(result.error()));
      ((*self).*then)(std::move(*result));
    };
    if (!handoff::offload(pool_, work, back, done)) finish("sorry: busy");
  }
  void has_user(User user) {
    user_ = std::move(user);
    load([id = user_.id] { return count_orders(id); }, &PageByCallbacks::has_orders);
    load([id = user_.id] { return count_offers(id); }, &PageByCallbacks::has_offers);
  }
  void has_orders(int orders) {
    orders_ = orders;
    if (offers_) finish(render(user_, *orders_, *offers_));
  }
  void has_offers(int offers) {
    offers_ = offers;
    if (orders_) finish(render(user_, *orders_, *offers_));
  }
  void finish(const std::string& page) {
    if (auto done = std::exchange(done_, nullptr)) done(page);  // Both may fail: told once.
  }

  handoff::WorkerPool& pool_;
  Loop& loop_;
  Done done_;
  User user_;
  std::optional<int> orders_;
  std::optional<int> offers_;
};

// -- Futures --------------------------------------------------------------------------------------

std::string page_by_futures(handoff::WorkerPool& pool, int id) {
  try {
    auto loading = pool.submit([id] { return load_user(id); });
    if (!loading) return "sorry: busy";
    const User user =
        loading->get().value();  // This thread waits; what load_user() threw comes here.

    auto orders = pool.submit([id] { return count_orders(id); });
    auto offers = pool.submit([id] { return count_offers(id); });
    if (!orders || !offers) return "sorry: busy";
    return render(user, orders->get().value(), offers->get().value());
  } catch (const std::exception&) {
    return error_page(std::current_exception());
  }
}

// -- Coroutines -----------------------------------------------------------------------------------

struct Busy : std::runtime_error {
  Busy() : std::runtime_error("busy") {}
};

// Runs work on the pool, and holds no thread meanwhile.
template <typename Work>
handoff::Lazy<std::invoke_result_t<Work&>> on(handoff::WorkerPool& pool, Work work) {
  auto loading = handoff::offload(pool, work);
  if (!loading) throw Busy();
  auto loaded = co_await *loading;
  if (!loaded) throw Busy();
  co_return std::move(*loaded);
}

handoff::Lazy<std::string> page_by_coroutine(handoff::WorkerPool& pool, int id) {
  try {
    const User user = co_await on(pool, [id] { return load_user(id); });
    auto [orders, offers] =
        co_await handoff::when_all(on(pool, [id = user.id] { return count_orders(id); }),
                                   on(pool, [id = user.id] { return count_offers(id); }));
    co_return render(user, orders, offers);
  } catch (const std::exception&) {
    co_return error_page(std::current_exception());
  }
}

// -- The same page --------------------------------------------------------------------------------

std::string page_by_callbacks(handoff::WorkerPool& pool, int id) {
  Loop loop;
  bool is_done = false;
  std::string page;
  auto request = std::make_shared<PageByCallbacks>(pool, loop, [&](std::string given) {
    page = std::move(given);
    is_done = true;
  });
  request->start(id);
  loop.run_until(is_done);
  return page;
}

TEST(ThreeWaysGuide, AllThreeGiveTheSamePage) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10, .name = "store"}};
  const std::string page = "Ada: 8 orders, 9 offers";
  EXPECT_EQ(page_by_callbacks(pool, 7), page);
  EXPECT_EQ(page_by_futures(pool, 7), page);
  EXPECT_EQ(handoff::sync_wait(page_by_coroutine(pool, 7)), page);
}

TEST(ThreeWaysGuide, AllThreeGiveTheSameErrorPage) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10, .name = "store"}};
  const std::string page = "sorry: no such user";
  EXPECT_EQ(page_by_callbacks(pool, -1), page);
  EXPECT_EQ(page_by_futures(pool, -1), page);
  EXPECT_EQ(handoff::sync_wait(page_by_coroutine(pool, -1)), page);
}

TEST(ThreeWaysGuide, AFutureAndACoroutineMeet) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10, .name = "store"}};
  auto page = handoff::spawn(pool, page_by_coroutine(pool, 7));  // A coroutine as a future.
  ASSERT_TRUE(page);
  EXPECT_EQ(page->get(), "Ada: 8 orders, 9 offers");
}

}  // namespace
