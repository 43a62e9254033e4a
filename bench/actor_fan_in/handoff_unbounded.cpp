// handoff::Actor with a bound that is never met: what the bound costs, or gains.
#include "handoff_fan_in.hpp"

int main(int argc, char** argv) {
  constexpr std::size_t never_full = std::size_t{1} << 30;
  return bench::actor_fan_in<bench::HandoffFanIn<never_full>>(argc, argv);
}
