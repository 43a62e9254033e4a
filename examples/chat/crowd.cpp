#include "crowd.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

#include "handoff/clock.hpp"

namespace chat {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t clients_per_address = 5'000;  // Each has some 28,000 ports.
}

Crowd::Crowd(std::uint16_t port, Hear hear)
    : port_(port), hear_(std::move(hear)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
}

Crowd::~Crowd() { close(epoll_); }

std::size_t Crowd::add(int receive_buffer) {
  const std::size_t number = clients_.size();
  const auto from = static_cast<std::uint8_t>(2 + number / clients_per_address);
  clients_.push_back({.client = std::make_unique<Client>(port_, from, receive_buffer)});
  epoll_event event{.events = EPOLLIN | EPOLLOUT, .data = {.u64 = number}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_.back().client->socket(), &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
  return number;
}

void Crowd::send(std::size_t client, std::string_view text) {
  Entry& entry = clients_[client];
  if (!entry.is_open) return entry.waiting.emplace_back(text), void();
  entry.client->send(text);
  watch(client);
}

void Crowd::kill(std::size_t client) {
  clients_[client].client->kill();
  closed(clients_[client]);
}

void Crowd::stop_reading(std::size_t client) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, clients_[client].client->socket(), nullptr);
}

bool Crowd::run_until(const std::function<bool()>& fact) {
  std::array<epoll_event, 256> events;
  for (const auto end = handoff::now() + 1min; !fact();) {
    if (handoff::now() > end) return false;
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 100);
    for (int i = 0; i < count; ++i) ready(events[static_cast<std::size_t>(i)].data.u64);
  }
  return true;
}

void Crowd::ready(std::size_t number) {
  Client& client = *clients_[number].client;
  client.on_ready([&](std::string_view text) { hear_(number, text); });
  // Anew: what was heard may have added clients.
  Entry& entry = clients_[number];
  if (client.state() == Client::State::closed) return closed(entry);
  if (client.state() == Client::State::open && !std::exchange(entry.is_open, true)) {
    ++open_;
    for (const auto& each : std::exchange(entry.waiting, {})) client.send(each);
  }
  watch(number);
}

void Crowd::watch(std::size_t number) {
  Entry& entry = clients_[number];
  if (entry.client->state() == Client::State::closed) return closed(entry);
  const bool wants_to_write = entry.client->wants_to_write();
  if (std::exchange(entry.wants_to_write, wants_to_write) == wants_to_write) return;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = number}};
  if (wants_to_write) event.events |= EPOLLOUT;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, entry.client->socket(), &event);
}

void Crowd::closed(Entry& entry) {
  if (std::exchange(entry.is_open, false)) --open_;
}

}  // namespace chat
