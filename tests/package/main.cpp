// The program of somebody who found handoff in one of four ways. Exits with 0 if it works.
#include <handoff/queue.hpp>

int main() {
  handoff::BlockingQueue<int> queue{{.capacity = 1}};
  if (!queue.put(1)) return 1;
  const auto item = queue.take();
  return item && *item == 1 ? 0 : 2;
}
