// How many items a second pass from one to another who must meet for each of them?
//
// One sender, one receiver, a channel that buffers nothing, 8-byte items, until `--items` are sent or `--milliseconds`
// have passed. `--workers` threads carry the coroutines. See ../support/channels/flow.hpp.
#pragma once

#include "../support/channels/flow.hpp"

namespace bench {

template <ContenderChannels Channels>
int channel_rendezvous(int argc, char** argv) {
  return measure_flow<Channels>(1, argc, argv);
}

}  // namespace bench
