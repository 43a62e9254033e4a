// What the demo's shop hands in: one of a kind, for who tries it and for the shop itself.
#pragma once

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/workflow.hpp"

namespace handoff::server::demo {

tasks::NewTask email(int customer);
tasks::NewTask picture(int customer);
tasks::NewTask report();
tasks::NewTask payment(bool has_expired);
tasks::NewTask text_message(int customer);
tasks::Workflow order(int number);

}  // namespace handoff::server::demo
