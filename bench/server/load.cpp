// Clients of a server, for what wrk cannot do. Prints one line of JSON.
//
//   load claims <port> <connections> <tasks>     claims ten at a time and reports them, until nothing is left
//   load pickup <port> <tasks>                   from a POST of a task to a waiting claim that has it
//   load events <port> <readers> <tasks>         until each reader of the event stream has heard of all tasks
//   load idle   <port> <connections>             opens them, asks once with each, and waits for a line on its standard input
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/raw_client.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

raw::Answer ask(raw::Client& client, std::string_view target, std::string_view body) {
  client.send(raw::request("POST", target, body));
  return client.read_answer();
}

constexpr std::string_view task =
    R"({"queue":"load","kind":"welcome","payload":{"user":42,"template":"welcome","language":"en"}})";

void enqueue(raw::Client& client, int tasks) {
  while (tasks > 0) {
    const int now = std::min(tasks, 1000);
    std::string body = "[";
    for (int i = 0; i < now; ++i) body.append(i == 0 ? "" : ",").append(task);
    if (ask(client, "/v1/tasks/batch", body + "]").status != 202)
      throw std::runtime_error("not accepted");
    tasks -= now;
  }
}

// What stands behind `"name":"`, each time.
std::vector<std::string> values(const std::string& json, const std::string& name) {
  std::vector<std::string> all;
  const std::string mark = "\"" + name + "\":\"";
  for (auto at = json.find(mark); at != std::string::npos; at = json.find(mark, at)) {
    at += mark.size();
    all.push_back(json.substr(at, json.find('"', at) - at));
  }
  return all;
}

std::string outcomes(const std::string& claimed) {
  const auto ids = values(claimed, "id");
  const auto leases = values(claimed, "lease");
  std::string body = "[";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    body.append(i == 0 ? "" : ",").append(R"({"id":")").append(ids[i]);
    body.append(R"(","lease":")").append(leases[i]).append(R"(","done":null})");
  }
  return body + "]";
}

void claims(std::uint16_t port, int connections, int tasks) {
  raw::Client first(port);
  enqueue(first, tasks);
  std::atomic<int> done = 0;
  const auto began = Clock::now();
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < connections; ++i) {
      workers.emplace_back([&] {
        raw::Client client(port);
        for (;;) {
          const auto claimed = ask(client, "/v1/claim", R"({"queues":["load"],"max":10})");
          if (claimed.status != 200) return;
          const std::string body = outcomes(claimed.body);
          if (ask(client, "/v1/outcomes", body).status != 200)
            throw std::runtime_error("not recorded");
          done += static_cast<int>(values(body, "id").size());
        }
      });
    }
  }
  const double seconds = seconds_since(began);
  std::printf("{\"done\": %d, \"tasks_per_s\": %.0f}\n", done.load(), done / seconds);
}

void pickup(std::uint16_t port, int tasks) {
  raw::Client producer(port);
  std::vector<double> times;
  std::jthread worker;
  raw::Client client(port);
  for (int i = 0; i < tasks; ++i) {
    client.send(
        raw::request("POST", "/v1/claim", R"({"queues":["load"],"wait":"60s","worker":"pickup"})"));
    std::this_thread::sleep_for(std::chrono::milliseconds(3));  // Until it waits there.
    Clock::time_point came;
    raw::Answer claimed;
    const auto began = Clock::now();
    std::jthread waits([&] {
      claimed = client.read_answer();
      came = Clock::now();
    });
    ask(producer, "/v1/tasks", task);
    waits.join();
    times.push_back(std::chrono::duration<double, std::milli>(came - began).count());
    ask(client, "/v1/outcomes", outcomes(claimed.body));
  }
  std::ranges::sort(times);
  std::printf("{\"pickup_ms_p50\": %.3f, \"pickup_ms_p99\": %.3f}\n", times[times.size() / 2],
              times[times.size() * 99 / 100]);
}

// One thread for each reader would measure threads: a few read for all.
void events(std::uint16_t port, int readers, int tasks) {
  std::vector<std::unique_ptr<raw::Client>> all;
  for (int i = 0; i < readers; ++i) {
    all.push_back(std::make_unique<raw::Client>(port));
    all.back()->send(raw::request("GET", "/v1/events?queue=load"));
    all.back()->read_head();
  }
  const auto began = Clock::now();
  raw::Client producer(port);
  enqueue(producer, tasks);
  std::atomic<long> heard = 0;
  std::atomic<long> missed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (int i = t; i < readers; i += 2) {
          int seen = 0;
          while (seen < tasks) {
            const std::string part = all[static_cast<std::size_t>(i)]->read_chunk().value_or("");
            for (auto at = part.find("event: task"); at != part.npos;
                 at = part.find("event: task", at + 1))
              ++seen;
            if (part.find("event: gap") != part.npos) {
              ++missed;
              break;
            }
          }
          heard += seen;
        }
      });
    }
  }
  const double seconds = seconds_since(began);
  std::printf("{\"events_per_s\": %.0f, \"readers_with_gaps\": %ld, \"seconds\": %.2f}\n",
              static_cast<double>(heard) / seconds, missed.load(), seconds);
}

void idle(std::uint16_t port, int connections) {
  rlimit files{.rlim_cur = 65536, .rlim_max = 65536};
  ::setrlimit(RLIMIT_NOFILE, &files);
  std::vector<std::unique_ptr<raw::Client>> all;
  for (int i = 0; i < connections; ++i) {
    all.push_back(std::make_unique<raw::Client>(port));
    all.back()->send(raw::request("GET", "/healthz"));
    all.back()->read_answer();
  }
  std::printf("{\"connections\": %d}\n", connections);
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string what = argv[1];
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const int first = std::atoi(argv[3]);
  const int second = argc > 4 ? std::atoi(argv[4]) : 0;
  if (what == "claims") claims(port, first, second);
  if (what == "pickup") pickup(port, first);
  if (what == "events") events(port, first, second);
  if (what == "idle") idle(port, first);
}
