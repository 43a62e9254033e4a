// What a contract is tested with: here, a store in this process. tests/remote has the same of a server, and runs the same tests.
#pragma once

#ifdef HANDOFF_CONTRACT_STORE
#include HANDOFF_CONTRACT_STORE
#else

#include "handoff/tasks/tasks.hpp"

namespace handoff::tests {

class ContractStore {
 public:
  tasks::Tasks open() const { return tasks::open("memory:").value(); }
};

}  // namespace handoff::tests

#endif
