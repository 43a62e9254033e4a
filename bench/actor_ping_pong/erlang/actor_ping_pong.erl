%% The work of ../workload.hpp with Erlang processes.
-module(actor_ping_pong).
-export([main/0]).

main() ->
    bench:run(fun(Arguments) ->
        Pairs = bench:number(Arguments, "pairs", 1),
        Each = bench:number(Arguments, "round_trips", 1_000_000) div Pairs,
        Main = self(),
        Pingers = [spawn_pair(Each, Main) || _ <- lists:seq(1, Pairs)],

        Stopwatch = bench_rate:start(),
        [Pinger ! start || Pinger <- Pingers],
        Sum = lists:sum([receive {sum, Pinger, Sum} -> Sum end || Pinger <- Pingers]),
        Rate = bench_rate:stop(Stopwatch, Pairs * Each),
        bench:check({Pairs * Each, Pairs * Each * (Each + 1)}, {Pairs * Each, Sum}),
        bench:print(Rate)
    end).

spawn_pair(RoundTrips, Main) ->
    Ponger = spawn(fun pong/0),
    spawn(fun() ->
        receive start -> Main ! {sum, self(), ping(Ponger, 1, RoundTrips, 0)} end
    end).

pong() ->
    receive
        {Pinger, Number} ->
            Pinger ! {answer, 2 * Number},
            pong()
    end.

ping(_, Number, RoundTrips, Sum) when Number > RoundTrips -> Sum;
ping(Ponger, Number, RoundTrips, Sum) ->
    Ponger ! {self(), Number},
    receive {answer, Answer} -> ping(Ponger, Number + 1, RoundTrips, Sum + Answer) end.
