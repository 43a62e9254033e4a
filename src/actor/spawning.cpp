#include "handoff/detail/actor/spawning.hpp"

#include <memory>
#include <stdexcept>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/watching.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

ActorCell* ActorBase::cell_of_new_actor() {
  ActorCell* const cell = ActorCell::current();
  return cell != nullptr && cell->is_constructing() ? cell : nullptr;
}

void check_answer_type(ActorCell& cell, ReplyCore* reply, const void* type) {
  if (reply->type() == type) return;
  cell.give_back_reply(reply);
  throw std::logic_error("the message in hand has another Reply");
}

namespace {
class EndOfActor final : public FutureState<Terminated> {
 public:
  explicit EndOfActor(std::source_location where) : FutureState(nullptr, where, nullptr) {}
  void has_come(const Terminated& end) {
    static_cast<void>(begin());
    keep(Terminated(end));
    complete(nullptr);
    drop_reference();
  }

 private:
  // Nobody calls it: it is begun and completed.
  void call(const std::stop_token&) override { HANDOFF_ASSERT(false); }
  void drop() noexcept override {}
};
}  // namespace

Future<Terminated> watch_from_outside(ActorCell* cell, std::source_location where) {
  auto* const state = new EndOfActor(where);
  Future<Terminated> future(state);
  if (cell == nullptr) {
    state->has_come({});
    return future;
  }
  auto watching = std::make_shared<Watch>(*cell, nullptr, nullptr);
  watching->tell_future = [state](const Terminated& end) { state->has_come(end); };
  watch(watching);
  return future;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
