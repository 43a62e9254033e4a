// Boost.Asio thread_pool.
#include "../support/pools/asio.hpp"
#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_memory<bench::AsioPool>(argc, argv); }
