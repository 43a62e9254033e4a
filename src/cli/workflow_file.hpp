// A workflow as a file has it: what POST /v1/workflows takes.
//
//   { "name": "checkout-17", "steps": [ { "name": "charge", "task": { "queue": "q", "kind": "charge" } },
//                                       { "name": "receipt", "after": ["charge"], "task": {...} } ] }
#pragma once

#include <string_view>

#include "handoff/tasks/workflow.hpp"

namespace handoff::cli {

// Throws Failure, which names the field that is wrong.
tasks::Workflow read_workflow(std::string_view json);

}  // namespace handoff::cli
