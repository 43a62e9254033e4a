// Leases are written and read by clients too: see tasks/lease_text.hpp.
#pragma once

#include "tasks/lease_text.hpp"

namespace handoff::server {

using tasks::parse_lease;
using tasks::to_text;

}  // namespace handoff::server
