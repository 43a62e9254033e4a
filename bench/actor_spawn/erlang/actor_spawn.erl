%% The work of ../workload.hpp with Erlang processes. The last thing that each does is to send on its number.
-module(actor_spawn).
-export([main/0]).

-define(SKYNET_CHILDREN, 10).

main() ->
    bench:run(fun(Arguments) ->
        Actors = bench:number(Arguments, "actors", 1_000_000),
        case bench:number(Arguments, "skynet", 0) of
            0 -> measure(Actors, Actors * (Actors + 1) div 2, fun() -> spawn_send_stop(Actors) end);
            _ -> measure(tree_size(Actors), Actors * (Actors - 1) div 2, fun() -> skynet(Actors) end)
        end
    end).

measure(Processes, Expected, Work) ->
    Stopwatch = bench_rate:start(),
    Sum = Work(),
    Rate = bench_rate:stop(Stopwatch, Processes),
    bench:check({Processes, Expected}, {Processes, Sum}),
    bench:print(Rate).

spawn_send_stop(Count) ->
    Main = self(),
    Pids = [spawn(fun() -> count(Main, 0) end) || _ <- lists:seq(1, Count)],
    lists:foldl(fun(Pid, Number) -> Pid ! Number, Number + 1 end, 1, Pids),
    lists:foreach(fun(Pid) -> Pid ! stop end, Pids),
    receive_sum(Count, 0).

count(Main, Sum) ->
    receive
        stop -> Main ! Sum;
        Number -> count(Main, Sum + Number)
    end.

skynet(Leaves) ->
    Main = self(),
    spawn(fun() -> node(Main, 0, Leaves) end),
    receive_sum(1, 0).

node(Parent, First, 1) -> Parent ! First;
node(Parent, First, Leaves) ->
    Self = self(),
    Each = Leaves div ?SKYNET_CHILDREN,
    [spawn(fun() -> node(Self, First + I * Each, Each) end) || I <- lists:seq(0, ?SKYNET_CHILDREN - 1)],
    Parent ! receive_sum(?SKYNET_CHILDREN, 0).

receive_sum(0, Sum) -> Sum;
receive_sum(Missing, Sum) -> receive Number -> receive_sum(Missing - 1, Sum + Number) end.

%% Leaves and all above them.
tree_size(1) -> 1;
tree_size(Leaves) -> Leaves + tree_size(Leaves div ?SKYNET_CHILDREN).
