// What tests/tasks says of workers and workflows, over a server.
#define HANDOFF_CONTRACT_STORE "remote/served_contract.hpp"
#include "tasks/worker_workflows_test.cpp"
