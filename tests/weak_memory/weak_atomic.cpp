#include "weak_memory/weak_atomic.hpp"

#include <memory>
#include <optional>
#include <vector>

#include "weak_memory/orders.hpp"
#include "weak_memory/relacy_here.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::weak {

namespace {

template <typename Bits>
struct RelacyCell : Cell<Bits> {
  explicit RelacyCell(Bits bits) : value(bits) {}
  std::optional<rl::atomic<Bits>> value;  // Nothing once it is destroyed.
};

template <typename Bits>
RelacyCell<Bits>& relacy(Cell<Bits>& cell) {
  return static_cast<RelacyCell<Bits>&>(cell);
}

template <typename Bits>
rl::atomic<Bits>& living(Cell<Bits>& cell, const Where& where) {
  auto& value = relacy(cell).value;
  if (!value) {
    rl::ctx().fail_test("an atomic that is gone", rl::test_result_access_to_freed_memory,
                        info_of(where));
  }
  return *value;
}

// Kept until the next execution, so that a late access is noticed.
template <typename Bits>
std::vector<std::unique_ptr<RelacyCell<Bits>>> destroyed;

std::optional<rl::atomic<std::uint8_t>> all_plain_words;

rl::memory_order as_relacy(std::memory_order order) {
  switch (order) {
    case std::memory_order::relaxed: return rl::mo_relaxed;
    case std::memory_order::consume: return rl::mo_consume;
    case std::memory_order::acquire: return rl::mo_acquire;
    case std::memory_order::release: return rl::mo_release;
    case std::memory_order::acq_rel: return rl::mo_acq_rel;
    case std::memory_order::seq_cst: break;
  }
  return rl::mo_seq_cst;
}

template <rl::rmw_type_e kind, typename Bits>
Bits relacy_change(rl::atomic<Bits>& value, Bits operand, std::memory_order order,
                   const Where& where) {
  return value.rmw(rl::rmw_type_t<kind>(), operand, as_relacy(order), info_of(where));
}

}  // namespace

void begin_atomics() {
  destroyed<std::uint8_t>.clear();
  destroyed<std::uint32_t>.clear();
  destroyed<std::uint64_t>.clear();
  if (all_plain_words) std::construct_at(&all_plain_words);  // Of an execution that has failed.
  all_plain_words.emplace(std::uint8_t{0});
}

void end_atomics() { all_plain_words.reset(); }

void order_by_plain_change(std::memory_order order) {
  if (!in_execution()) return;
  const rl::preemption_disabler alone(rl::ctx());
  relacy_change<rl::rmw_type_add>(*all_plain_words, std::uint8_t{0}, order, Where::current());
}

template <typename Bits>
Cell<Bits>* Cell<Bits>::make(Bits bits) {
  if (!in_execution()) return nullptr;
  auto* const cell = new RelacyCell<Bits>(bits);
  be_this_thread();
  return cell;
}

template <typename Bits>
void Cell<Bits>::destroy() {
  relacy(*this).value.reset();
  destroyed<Bits>.emplace_back(&relacy(*this));
}

template <typename Bits>
Bits Cell<Bits>::load(std::memory_order order, const Where& where) {
  const Bits bits =
      living(*this, where).load(as_relacy(order_at(where, Access::load, order)), info_of(where));
  be_this_thread();
  return bits;
}

template <typename Bits>
void Cell<Bits>::store(Bits bits, std::memory_order order, const Where& where) {
  living(*this, where)
      .store(bits, as_relacy(order_at(where, Access::store, order)), info_of(where));
  be_this_thread();
}

template <typename Bits>
Bits Cell<Bits>::change(Change change, Bits operand, std::memory_order order, const Where& where) {
  auto& value = living(*this, where);
  order = order_at(where, Access::change, order);
  Bits before{};
  switch (change) {
    case Change::exchange:
      before = relacy_change<rl::rmw_type_swap>(value, operand, order, where);
      break;
    case Change::add: before = relacy_change<rl::rmw_type_add>(value, operand, order, where); break;
    case Change::subtract:
      before = relacy_change<rl::rmw_type_sub>(value, operand, order, where);
      break;
    case Change::conjoin:
      before = relacy_change<rl::rmw_type_and>(value, operand, order, where);
      break;
    case Change::unite:
      before = relacy_change<rl::rmw_type_or>(value, operand, order, where);
      break;
  }
  be_this_thread();
  return before;
}

template <typename Bits>
bool Cell<Bits>::compare_exchange(bool may_fail_for_no_reason, Bits& expected, Bits bits,
                                  std::memory_order order, std::memory_order order_of_failure,
                                  const Where& where) {
  auto& value = living(*this, where);
  const auto success_order = order_at(where, Access::change, order);
  const auto success = as_relacy(success_order);
  const auto failure =
      as_relacy(success_order == order ? order_of_failure : load_part_of(success_order));
  const auto info = info_of(where);
  const bool done =
      may_fail_for_no_reason
          ? value.compare_exchange(rl::bool_t<true>(), expected, bits, success, failure, info)
          : value.compare_exchange(rl::bool_t<false>(), expected, bits, success, failure, info);
  be_this_thread();
  return done;
}

template <typename Bits>
Bits Cell<Bits>::newest() const {
  return living(const_cast<Cell&>(*this), Where::current()).debug_value();
}

template class Cell<std::uint8_t>;
template class Cell<std::uint32_t>;
template class Cell<std::uint64_t>;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::weak
