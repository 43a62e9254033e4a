// The EmailActor against a real SMTP server that comes and goes.
#pragma once

namespace signup {

// The exit status. What is wrong has been printed.
int self_test();

}  // namespace signup
