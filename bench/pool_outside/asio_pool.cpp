// Boost.Asio thread_pool.
#include "../support/pools/asio.hpp"
#include "workload.hpp"

int main(int argc, char** argv) { return bench::pool_outside<bench::AsioPool>(argc, argv); }
