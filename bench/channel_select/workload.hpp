// How many items a second does one receiver take that selects among four channels?
//
// Four senders, each with a channel of its own that buffers `--capacity` items, or none; 8-byte items, until `--items`
// are sent or `--milliseconds` have passed. The receiver takes one item a select from whichever channel has one. When it
// hears that there is an end, it takes from each what is left. `--workers` threads carry the
// coroutines. See ../support/channels/flow.hpp.
#pragma once

#include <atomic>
#include <deque>

#include "../support/channels/flow.hpp"

namespace bench {

constexpr std::size_t select_channels = 4;

// The channels, and who closes them: the last of the senders.
template <typename Channel>
class SelectedChannels {
 public:
  template <typename... Arguments>
  explicit SelectedChannels(const Arguments&... arguments) {
    for (std::size_t i = 0; i < select_channels; ++i) channels_.emplace_back(arguments...);
  }

  Channel& operator[](std::size_t index) { return channels_[index]; }
  auto begin() { return channels_.begin(); }
  auto end() { return channels_.end(); }

  // A sender has sent all of its items.
  void sender_ends() {
    if (sending_.fetch_sub(1) > 1) return;
    for (Channel& channel : channels_) channel.close();
  }

 private:
  std::deque<Channel> channels_;
  std::atomic<std::size_t> sending_ = select_channels;
};

template <ContenderChannels Channels>
int channel_select(int argc, char** argv) {
  return measure_flow<Channels>(select_channels, argc, argv);
}

}  // namespace bench
