%% The resident memory of the process, as support/resident_memory.hpp and support/peak_memory.hpp read it.
-module(bench_memory).
-export([resident_bytes/0, start_peak/0, peak_growth_mib/1]).

resident_bytes() -> 1024 * kib("VmRSS").

%% Begins now.
start_peak() ->
    _ = file:write_file("/proc/self/clear_refs", "5"), % Lowers the mark to what is resident now.
    kib("VmRSS").

%% The highest growth since the start.
peak_growth_mib(Before) -> max(0, kib("VmHWM") - Before) / 1024.

kib(Field) ->
    {ok, Status} = file:read_file("/proc/self/status"),
    {match, [Kib]} = re:run(Status, Field ++ ":\\s+(\\d+)", [{capture, all_but_first, binary}]),
    binary_to_integer(Kib).
