#include "server/demo/offers.hpp"

#include <fmt/format.h>

#include "server/demo/chance.hpp"

namespace handoff::server::demo {

tasks::NewTask email(int customer) {
  return {.queue = "email",
          .kind = "welcome",
          .payload = fmt::format(R"({{"to":"customer-{}@example.org"}})", customer)};
}

tasks::NewTask picture(int customer) {
  return {.queue = "image",
          .kind = "resize",
          .payload = fmt::format(R"({{"photo":{}}})", up_to(10'000)),
          .group = fmt::format("customer-{}", customer)};
}

tasks::NewTask report() {
  return {.queue = "reports", .kind = "sales", .payload = R"({"month":"last"})"};
}

tasks::NewTask payment(bool has_expired) {
  return {.queue = "payments",
          .kind = "charge",
          .payload = fmt::format(R"({{"card":"{}","cents":{}}})", has_expired ? "expired" : "good",
                                 100 + up_to(20'000))};
}

tasks::NewTask text_message(int customer) {
  return {.queue = "sms",
          .kind = "text",
          .payload =
              fmt::format(R"({{"to":"customer-{}","text":"your order is on its way"}})", customer)};
}

tasks::Workflow order(int number) {
  const auto step = [&](std::string kind) {
    return tasks::NewTask{.queue = "orders",
                          .kind = std::move(kind),
                          .payload = fmt::format(R"({{"order":{}}})", number)};
  };
  tasks::Workflow workflow{fmt::format("order-{}", number)};
  workflow.step("reserve", step("reserve"))
      .step("pack", step("pack"), {"reserve"})
      .step("invoice", step("invoice"), {"reserve"})
      .step("ship", step("ship"), {"pack", "invoice"})
      .step("thank", step("thank"), {"ship"});
  return workflow;
}

}  // namespace handoff::server::demo
