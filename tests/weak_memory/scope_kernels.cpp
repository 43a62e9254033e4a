// Children that leave a scope without its lock, and who joins them.
#include <array>
#include <optional>

#include "handoff/detail/core/scope_core.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

// Once joined, the scope may be destroyed, and all that the children did is seen.
struct ScopeKernel : Kernel<ScopeKernel, 3> {
  struct Child final : detail::ScopeChild {
    Child() : ScopeChild("coroutine", Where::current()) {}
    void destroy() noexcept override {
      did.read();
      destroyed.add(1);
    }
    Plain<int> did;
    Plain<int> destroyed;
  };
  std::optional<detail::ScopeCore> scope;
  std::array<Child, 3> children;

  void before() {
    scope.emplace("", Deadline(), true, std::stop_token());
    for (Child& each : children) scope->enter(each);
  }
  void work(unsigned index) {
    if (index < 2) {
      leave(children[index]);
      return;
    }
    leave(children[2]);
    const Wait wait;
    detail::ScopeJoin join(*scope);
    if (!join.ready({})) {
      detail::ThreadWaiter waiter(wait, {.operation = "join", .where = Where::current()});
      take_steps(waiter, join);
    }
    check(join.result().has_value());
    for (Child& each : children) check(each.did.read() == 1);
    scope.reset();
  }
  void leave(Child& child) {
    child.did.write(1);
    scope->leave_and_destroy(child, nullptr);
  }
  void after() {
    for (Child& each : children) check(each.destroyed.read() == 1);
  }
};
const Added scope = add<ScopeKernel>("Scope");

}  // namespace
}  // namespace handoff::weak_memory
