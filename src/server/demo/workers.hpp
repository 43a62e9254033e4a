// Who does the work of the demo: its queues, how they are set, and what a task of each kind takes.
#pragma once

#include "handoff/tasks/tasks.hpp"
#include "handoff/tasks/worker.hpp"

namespace handoff::server::demo {

void configure_queues(const tasks::Tasks& tasks);
tasks::WorkerOptions worker_options();
void add_handlers(tasks::Worker& worker);

}  // namespace handoff::server::demo
