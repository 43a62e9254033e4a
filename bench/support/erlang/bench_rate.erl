%% Times a piece of work that runs many jobs. CPU time comes in ticks of 10 ms.
-module(bench_rate).
-export([start/0, stop/2]).

-define(TICKS_PER_SECOND, 100).

start() -> {cpu_ticks(), erlang:monotonic_time()}.

%% The rate of the jobs that ran since the start.
stop({TicksBefore, Began}, Jobs) ->
    Time = erlang:monotonic_time() - Began,
    Seconds = Time / erlang:convert_time_unit(1, second, native),
    CpuSeconds = (cpu_ticks() - TicksBefore) / ?TICKS_PER_SECOND,
    Millions = Jobs * 1.0e-6,
    [{jobs, Jobs},
     {seconds, Seconds},
     {jobs_per_us, Millions / Seconds},
     {seconds_per_million_jobs, Seconds / Millions},
     {cpu_seconds_per_million_jobs, CpuSeconds / Millions}].

%% User and system time of the process, which follow its name and 11 other fields.
cpu_ticks() ->
    {ok, Stat} = file:read_file("/proc/self/stat"),
    [_, AfterName] = string:split(Stat, ") ", trailing),
    Fields = string:lexemes(AfterName, " "),
    [User, System] = lists:sublist(Fields, 12, 2),
    binary_to_integer(User) + binary_to_integer(System).
