// What tests/tasks says of workers, over a server.
#define HANDOFF_CONTRACT_STORE "remote/served_contract.hpp"
#include "tasks/worker_test.cpp"
