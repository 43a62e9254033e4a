// handoff::Actor with room for a thousand messages.
#include "handoff_fan_in.hpp"

int main(int argc, char** argv) {
  return bench::actor_fan_in<bench::HandoffFanIn<bench::mailbox_capacity>>(argc, argv);
}
