%% The work of ../workload.hpp with Erlang processes.
-module(actor_ring).
-export([main/0]).

main() ->
    bench:run(fun(Arguments) ->
        Actors = bench:number(Arguments, "actors", 1000),
        Tokens = bench:number(Arguments, "tokens", 1),
        Hops = bench:number(Arguments, "hops", 2_000_000) div Tokens,
        Starts = [Token * Actors div Tokens || Token <- lists:seq(0, Tokens - 1)],
        Ring = list_to_tuple(spawn_ring(Actors)),

        Stopwatch = bench_rate:start(),
        [element(Start + 1, Ring) ! {token, Hops, 0} || Start <- Starts],
        Sum = lists:sum([receive {sum, Sum} -> Sum end || _ <- Starts]),
        Rate = bench_rate:stop(Stopwatch, Tokens * Hops),
        Expected = lists:sum([expected_sum(Actors, Hops, Start) || Start <- Starts]),
        bench:check({Tokens * Hops, Expected}, {Tokens * Hops, Sum}),
        bench:print(Rate)
    end).

spawn_ring(Actors) ->
    Main = self(),
    Pids = [spawn(fun() -> receive {next, Next} -> node(Next, Number, Main) end end)
            || Number <- lists:seq(0, Actors - 1)],
    [First | Rest] = Pids,
    lists:foreach(fun({Pid, Next}) -> Pid ! {next, Next} end, lists:zip(Pids, Rest ++ [First])),
    Pids.

node(Next, Number, Main) ->
    receive
        {token, 0, Sum} -> Main ! {sum, Sum};
        {token, Left, Sum} -> Next ! {token, Left - 1, Sum + Number}
    end,
    node(Next, Number, Main).

expected_sum(Actors, Hops, Start) ->
    Rounds = Hops div Actors * (Actors * (Actors - 1) div 2),
    Rounds + lists:sum([(Start + Hop) rem Actors || Hop <- lists:seq(0, Hops rem Actors - 1)]).
