// The contract of a store, over a server.
#pragma once

#include "remote/served.hpp"

namespace handoff::tests {

class ContractStore {
 public:
  tasks::Tasks open() const { return served_.open(); }

 private:
  const Served served_;
};

}  // namespace handoff::tests
