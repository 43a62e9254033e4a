// Relacy, without the macros that its own umbrella header makes of `new`, `delete`, `free` and the memory orders.
#pragma once

#include <relacy/atomic.hpp>
#include <relacy/base.hpp>
#include <relacy/context.hpp>
#include <relacy/context_base_impl.hpp>
#include <relacy/dyn_thread.hpp>
#include <relacy/stdlib/condition_variable.hpp>
#include <relacy/stdlib/event.hpp>
#include <relacy/stdlib/mutex.hpp>
#include <relacy/stdlib/semaphore.hpp>
#include <relacy/test_suite.hpp>
#include <relacy/var.hpp>
#undef $
