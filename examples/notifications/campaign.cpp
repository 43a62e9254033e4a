#include "campaign.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdio>
#include <span>
#include <thread>

#include "handoff/sizing.hpp"
#include "handoff/waits.hpp"
#include "support/slow_service.hpp"

namespace notifications {

using namespace std::chrono_literals;
using example::for_people;
using example::Terminal;

void Campaign::hand_in_all() {
  handoff::name_this_thread("campaign");
  for (std::uint64_t first = 0; first < options_.count; first += options_.packet()) {
    if (!pool_.post([this, first] { send_packet(first); }, {.stop = stop_})) break;
  }
  all_in_ = true;
}

void Campaign::send_packet(std::uint64_t first) {
  std::array<Notification, most_in_a_packet> packet;
  const auto size = std::min(options_.packet(), options_.count - first);
  for (std::uint64_t i = 0; i < size; ++i) {
    packet[i].number = first + i;
    packet[i].text.fill(' ');
    // Not fmt::format_to_n: clang calls it by another name than Debian's libfmt does.
    const auto text = fmt::format("Your parcel {} arrives tomorrow.", first + i);
    text.copy(packet[i].text.data(), packet[i].text.size());
  }
  gateway_.send(std::span(packet).first(size));
  sent_ += size;
}

Outcome Campaign::operator()() {
  std::thread campaign(&Campaign::hand_in_all, this);
  watch();
  campaign.join();
  const auto report =
      pool_.shutdown(stop_.stop_requested() ? handoff::interrupt() : handoff::finish_within(1min));
  const auto elapsed = handoff::now() - began_;
  gateway_.finish();
  return {.sent = sent_,
          .arrived = gateway_.arrived(),
          .arrived_twice = gateway_.arrived_twice(),
          .handed_back = report.handed_back.size(),
          .failed = pool_.stats().failed,
          .report = to_string(report),
          .elapsed = elapsed,
          .resident_at_first = resident_at_first_,
          .most_resident = most_resident_,
          .stopped = stop_.stop_requested()};
}

void Campaign::watch() {
  example::SlowService next_picture;
  const auto pause =
      terminal_.mode() == Terminal::Mode::silent ? 10ms : terminal_.time_between_pictures();
  bool goes_on = true;
  while (goes_on && !(all_in_ && pool_.stats().queued == 0)) {
    show();
    goes_on = next_picture.answers_after(pause, stop_);
  }
  show();
}

void Campaign::show() {
  const auto now = handoff::now();
  const std::uint64_t sent = sent_;
  if (now - looked_ >= 1s) {
    rate_now_ = static_cast<double>(sent - sent_then_) /
                std::chrono::duration<double>(now - looked_).count();
    looked_ = now;
    sent_then_ = sent;
  }
  const auto resident = example::resident_bytes();
  if (sent > 0 && resident_at_first_ == 0) resident_at_first_ = resident;
  most_resident_ = std::max(most_resident_, resident);
  if (terminal_.mode() == Terminal::Mode::silent) return;

  const double rate = rate_now_ > 0 ? rate_now_ : static_cast<double>(options_.rate);
  const auto left = handoff::waiting_time(options_.count - sent, handoff::per_second(rate));
  const auto line =
      fmt::format("{:>10} of {}  {:>8}/s  {:>7} left  {}", for_people(sent),
                  for_people(options_.count), for_people(static_cast<std::uint64_t>(rate_now_)),
                  for_people(left), example::mebibytes(resident));
  if (terminal_.mode() == Terminal::Mode::lines) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
    return;
  }
  if (stop_.stop_requested()) terminal_.restore();  // A second Ctrl-C may come at any time.
  const double part = example::share(sent, options_.count);
  terminal_.draw({fmt::format("{}  {} {:>3.0f} %", terminal_.bold("notifications"),
                              terminal_.green(terminal_.bar(part, 50)), part * 100),
                  line});
}

}  // namespace notifications
