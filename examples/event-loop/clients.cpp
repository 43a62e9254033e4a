#include "clients.hpp"

#include <fmt/core.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "handoff/queue.hpp"
#include "handoff/waits.hpp"
#include "server.hpp"
#include "support/slow_service.hpp"

namespace event_loop {

namespace asio = boost::asio;

Connection::Connection(std::uint16_t port) {
  socket_.connect({asio::ip::address_v4::loopback(), port});
  socket_.set_option(asio::ip::tcp::no_delay(true));
}

void Connection::send(std::string_view line) {
  const auto text = std::string(line) + '\n';
  asio::write(socket_, asio::buffer(text));
}

std::string Connection::receive() {
  boost::system::error_code error;
  const auto size = asio::read_until(socket_, asio::dynamic_buffer(received_), '\n', error);
  if (error) return {};
  auto line = received_.substr(0, size - 1);
  received_.erase(0, size);
  return line;
}

Pings send_pings(std::uint16_t port, handoff::Duration period, const std::stop_token& stop) {
  handoff::name_this_thread("pings");
  Connection connection(port);
  Pings pings;
  // When each ping was due; what has been sent and not answered yet. The server answers in order.
  handoff::BlockingQueue<handoff::TimePoint> sent{{.capacity = 100'000, .name = "pings sent"}};
  std::jthread reader([&] {
    handoff::name_this_thread("pongs");
    while (auto due = sent.take()) {
      const auto expected = fmt::format("pong {}", pings.took.size());
      if (connection.receive() != expected) return;
      pings.took.push_back(handoff::now() - *due);
    }
  });

  example::SlowService schedule;
  auto due = handoff::now();
  while (schedule.answers_at(due, stop) && sent.offer(handoff::TimePoint(due))) {
    connection.send(fmt::format("ping {}", pings.sent++));
    due += period;
  }
  sent.close();
  reader.join();
  return pings;
}

Hashes send_hashes(std::uint16_t port, std::uint64_t rounds, const std::stop_token& stop) {
  handoff::name_this_thread("hashes wanted");
  const auto expected = fmt::format("hash {:016x}", hash(rounds, "handoff"));
  Connection connection(port);
  Hashes hashes;
  for (example::SlowService pause; !stop.stop_requested();) {
    connection.send(fmt::format("hash {} handoff", rounds));
    ++hashes.sent;
    const auto answer = connection.receive();
    if (answer.empty()) break;
    hashes.right += answer == expected;
    if (answer != "busy") continue;
    ++hashes.busy;
    pause.answers_after(std::chrono::milliseconds(10), stop);
  }
  return hashes;
}

}  // namespace event_loop
