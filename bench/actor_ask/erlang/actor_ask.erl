%% The work of ../workload.hpp with gen_server:call(), without a timeout, which would only cost it.
-module(actor_ask).
-behaviour(gen_server).
-export([main/0, init/1, handle_call/3, handle_cast/2]).

main() ->
    bench:run(fun(Arguments) ->
        Asks = bench:number(Arguments, "asks", 500_000),
        Main = self(),
        {ok, Answerer} = gen_server:start(?MODULE, [], []),
        Asker = spawn(fun() -> receive start -> Main ! {sum, ask(Answerer, 1, Asks, 0)} end end),

        Stopwatch = bench_rate:start(),
        Asker ! start,
        Sum = receive {sum, Answers} -> Answers end,
        Rate = bench_rate:stop(Stopwatch, Asks),
        bench:check({Asks, Asks * (Asks + 1)}, {Asks, Sum}),
        bench:print(Rate)
    end).

ask(_, Number, Asks, Sum) when Number > Asks -> Sum;
ask(Answerer, Number, Asks, Sum) ->
    ask(Answerer, Number + 1, Asks, Sum + gen_server:call(Answerer, {double, Number}, infinity)).

init([]) -> {ok, none}.

handle_call({double, Number}, _From, State) -> {reply, 2 * Number, State}.

handle_cast(_, State) -> {noreply, State}.
