// Which actor waits for which: an ask for its answer, an outbox for room. One that would close a ring is refused, since all of them would
// wait for ever.
#include <fmt/core.h>

#include <algorithm>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/lock_order.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// One for all systems: actors of several may wait for each other.
constinit SmallLock graph_lock;

class GraphGuard {
 public:
  GraphGuard() : guard_(graph_lock) {}

 private:
  const sim::Uninterrupted alone_;  // All simulated runs have the same.
  const SmallGuard guard_;
};

// The way from `from` to `to` over those who wait; empty if there is none.
std::vector<ActorCell*> way_locked(ActorCell& from, const ActorCell& to) {
  struct Step {
    ActorCell* cell;
    std::size_t next = 0;
  };
  std::vector<Step> way{{.cell = &from}};
  std::vector<const ActorCell*> seen{&from};
  while (!way.empty()) {
    Step& last = way.back();
    if (last.cell == &to) {
      std::vector<ActorCell*> cells;
      for (const Step& each : way) cells.push_back(each.cell);
      return cells;
    }
    const ActorExtras* const extras = last.cell->extras_if_any();
    if (extras == nullptr || last.next == extras->waits_for.size()) {
      way.pop_back();
      continue;
    }
    ActorCell* const next = extras->waits_for[last.next++].first;
    if (std::ranges::find(seen, next) != seen.end()) continue;
    seen.push_back(next);
    way.push_back({.cell = next});
  }
  return {};
}

}  // namespace

bool SystemCore::add_edge(ActorCell& from, ActorCell& to, Edge kind,
                          std::vector<std::string>* ring) {
  ActorExtras& extras = from.extras();
  const GraphGuard guard;
  // Most wait for one who waits for nobody.
  const ActorExtras* const of_target = to.extras_if_any();
  const bool may_close = &from == &to || (of_target != nullptr && !of_target->waits_for.empty());
  if (may_close) {
    const auto way = way_locked(to, from);
    if (!way.empty()) {
      if (ring != nullptr) {
        ring->push_back(from.path());
        for (std::size_t i = 0; i + 1 < way.size(); ++i) ring->push_back(way[i]->path());
      }
      return false;
    }
  }
  extras.waits_for.emplace_back(&to, kind);
  return true;
}

void SystemCore::remove_edge(ActorCell& from, ActorCell& to, Edge kind) {
  auto& edges = from.extras().waits_for;
  const GraphGuard guard;
  const auto found = std::ranges::find(edges, std::pair(&to, kind));
  if (found == edges.end()) return;
  *found = edges.back();
  edges.pop_back();
}

std::string SystemCore::edges_of(ActorCell& from) {
  std::string text;
  const GraphGuard guard;
  for (const auto& [to, kind] : from.extras().waits_for) {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", kind == Edge::ask ? "ask" : "room at", to->path());
  }
  return text;
}

WaitsFor::~WaitsFor() {
  if (from_ != nullptr) from_->system().remove_edge(*from_, *to_, kind_);
}

bool WaitsFor::begin(ActorCell* from, ActorCell& to, Edge kind, std::vector<std::string>* ring) {
  if (from == nullptr) return true;
  if (!from->system().add_edge(*from, to, kind, ring)) return false;
  from_ = from;
  to_ = &to;
  kind_ = kind;
  return true;
}

bool WaitsFor::begin_room(ActorCell* from, ActorCell& to) {
  return begin(from, to, Edge::room, nullptr);
}

bool WaitsFor::begin_ask(ActorCell* from, ActorCell& to) {
  std::vector<std::string> ring;
  if (begin(from, to, Edge::ask, &ring)) return true;
  std::string report = "deadlock: actors that wait for each other's answers\n";
  for (std::size_t i = 0; i < ring.size(); ++i) {
    report += fmt::format("  {} waits for {}\n", ring[i], ring[(i + 1) % ring.size()]);
  }
  report_lock_problem(
      {.kind = LockProblem::Kind::deadlock, .locks = std::move(ring), .report = std::move(report)});
  return false;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
