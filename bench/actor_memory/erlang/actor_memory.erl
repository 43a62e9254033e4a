%% The work of ../workload.hpp with Erlang processes.
-module(actor_memory).
-export([main/0]).

-define(BEGUN, 1).
-define(COUNTED, 2).
-define(SUM, 3).

main() ->
    bench:run(fun(Arguments) ->
        Actors = bench:number(Arguments, "actors", 100_000),
        Handled = bench:number(Arguments, "handled", 0),
        Counts = counters:new(3, [atomics]),
        Before = bench_memory:resident_bytes(),
        Pids = [spawn(fun() -> begin_adding(Counts) end) || _ <- lists:seq(1, Actors)],
        [send_numbers(Pids) || Handled > 0],
        wait_for(Counts, Actors, Handled * Actors),
        After = bench_memory:resident_bytes(),

        send_numbers(Pids),
        All = (Handled + 1) * Actors,
        wait_for(Counts, Actors, All),
        bench:check({All, expected(Handled, Actors * (Actors + 1) div 2)},
                    {counters:get(Counts, ?COUNTED), counters:get(Counts, ?SUM)}),
        bench:print([{actors, Actors}, {bytes_per_actor, (After - Before) / Actors}])
    end).

begin_adding(Counts) ->
    counters:add(Counts, ?BEGUN, 1),
    add(Counts, 0).

add(Counts, State) ->
    receive
        Number ->
            counters:add(Counts, ?SUM, State + Number),
            counters:add(Counts, ?COUNTED, 1),
            add(Counts, State + Number)
    end.

send_numbers(Pids) -> lists:foldl(fun(Pid, Number) -> Pid ! Number, Number + 1 end, 1, Pids).

wait_for(Counts, Begun, Handled) ->
    case counters:get(Counts, ?BEGUN) >= Begun andalso counters:get(Counts, ?COUNTED) >= Handled of
        true -> timer:sleep(10); % The last of them are about to wait.
        false -> timer:sleep(1), wait_for(Counts, Begun, Handled)
    end.

%% They count the number, then twice the number.
expected(0, SumOfNumbers) -> SumOfNumbers;
expected(1, SumOfNumbers) -> 3 * SumOfNumbers.
