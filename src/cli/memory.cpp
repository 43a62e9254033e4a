// How the program's memory is managed, if it is linked with jemalloc: see cmake/Server.cmake.

// jemalloc reads it before main(). Threads of its own give back to the system what a burst has left; with few arenas little is kept for threads that rest.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "background_thread:true,narenas:4,dirty_decay_ms:5000,muzzy_decay_ms:5000";
}
