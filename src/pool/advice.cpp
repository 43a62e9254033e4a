#include "handoff/advice.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "handoff/sizing.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

constexpr std::uint64_t fewest_jobs = 20;

// 99,200: people read groups of three.
std::string with_commas(double number) {
  const auto digits = fmt::format("{:.0f}", number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string rate_text(double per_second) {
  return per_second >= 10 ? with_commas(per_second) : fmt::format("{:.2g}", per_second);
}

std::string time_text(Duration time) {
  const double seconds = std::chrono::duration<double>(time).count();
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.3g} s", seconds);
  const double minutes = std::floor(seconds / 60);
  return fmt::format("{} min {:.0f} s", with_commas(minutes), seconds - minutes * 60);
}

}  // namespace

std::optional<Advice> advise(const PoolMeasurements& measured, const AdviceQuestion& question) {
  if (question.burst <= Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("burst must be more than 0 ns, got {} ns", question.burst.count()));
  }
  if (!std::isfinite(question.peak_rate.per_second) || question.peak_rate.per_second < 0) {
    throw std::invalid_argument(
        fmt::format("peak_rate must be 0 (as measured) or a positive number per second, got {}",
                    question.peak_rate.per_second));
  }
  const double peak =
      question.peak_rate.per_second > 0 ? question.peak_rate.per_second : measured.peak_arrivals;
  if (measured.finished < fewest_jobs || measured.busy <= Duration::zero() || !(peak > 0)) {
    return std::nullopt;
  }
  const double busy = std::chrono::duration<double>(measured.busy).count();
  const double service_time = busy / static_cast<double>(measured.finished);
  const double drain = static_cast<double>(measured.workers) / service_time;
  const double enough =
      std::ceil(peak * service_time * (1 - 1e-12));  // What is off by rounding is no worker.
  const double piled_up = (peak - drain) * std::chrono::duration<double>(question.burst).count();
  if (!(drain > 0) || !std::isfinite(drain) || enough > 1e9 ||
      piled_up >= static_cast<double>(std::numeric_limits<std::uint32_t>::max())) {
    return std::nullopt;  // No queue, and no number of threads, is an answer to that.
  }

  Advice advice{.arrivals = {measured.peak_arrivals},
                .service_time = Duration(static_cast<Duration::rep>(service_time * 1e9)),
                .drain_rate = {drain},
                .capacity = capacity_for(
                    {.peak_rate = {peak}, .drain_rate = {drain}, .burst = question.burst}),
                .longest_wait = {},
                .workers = static_cast<std::size_t>(std::max(1.0, enough)),
                .sentence = {}};
  advice.longest_wait = waiting_time(advice.capacity, advice.drain_rate);
  advice.sentence =
      fmt::format("{}: its {} workers do {} jobs a second ({} each); {} a second for {} ",
                  measured.label, measured.workers, rate_text(drain),
                  time_text(advice.service_time), rate_text(peak), time_text(question.burst));
  if (piled_up <= 0) {
    advice.sentence += fmt::format("leave none waiting: {} workers would do.", advice.workers);
  } else {
    advice.sentence += fmt::format(
        "leave {0} waiting: a capacity of {0} absorbs them, and the last of them waits {1}; {2} "
        "workers would keep up.",
        with_commas(static_cast<double>(advice.capacity)), time_text(advice.longest_wait),
        with_commas(static_cast<double>(advice.workers)));
  }
  return advice;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
