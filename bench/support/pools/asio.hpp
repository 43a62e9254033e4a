// Boost.Asio thread_pool. It has no bound.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <utility>

#include "../boost_version.hpp"
#include "contender.hpp"

namespace bench {

class AsioPool {
 public:
  AsioPool(std::size_t workers, std::size_t /*capacity*/) : pool_{workers} {}

  template <typename Job>
  void post(Job job) {
    boost::asio::post(pool_, std::move(job));
  }

  template <typename Job>
  void spawn(Job job) {
    post(std::move(job));
  }

  void finish() { pool_.join(); }

  static std::string version() { return boost_version(); }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace bench
