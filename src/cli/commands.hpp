// All commands. A new one is a file in commands/ with a function of this form, declared here and named in main.cpp.
#pragma once

#include "cli/command.hpp"

namespace handoff::cli {

void add_serve(Command& program);
void add_token(Command& program);
void add_enqueue(Command& program);
void add_batch(Command& program);
void add_ls(Command& program);
void add_show(Command& program);
void add_watch(Command& program);
void add_explain(Command& program);
void add_retry(Command& program);
void add_cancel(Command& program);
void add_dead(Command& program);
void add_work(Command& program);
void add_workers(Command& program);
void add_queues(Command& program);
void add_pause(Command& program);
void add_resume(Command& program);
void add_purge(Command& program);
void add_schedule(Command& program);
void add_workflow(Command& program);
void add_top(Command& program);
void add_doctor(Command& program);

}  // namespace handoff::cli
