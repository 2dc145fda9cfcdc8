%% A hidden Erlang node that calls the brokers of a cluster, as rabbitmqctl does, within milliseconds.
%%
%% Each line of standard input is `NUMBER EXPRESSION.`; each line of standard output `NUMBER JSON`, in the order in
%% which answers come. Expressions call the functions below or `rpc:call`.
-module(control).
-define(COUNTS, [messages, messages_ready, messages_unacknowledged, state]).
-export([serve/0, call/5, views/2, held_back/1, crash/3, transfer/3]).

%% Read input through a separate port: the shell's standard input and output would hold an answer back while it waits
%% for a line.
serve() ->
    serve(open_port({fd, 0, 1}, [{line, 16#1000000}, eof])).

serve(Port) ->
    receive
        {Port, {data, {eol, Line}}} ->
            Server = self(),
            {Number, Expression} = lists:splitwith(fun(C) -> C =/= $\s end, Line),
            spawn(fun() -> Server ! {answer, [Number, $\s, value(Expression), $\n]} end),
            serve(Port);
        {answer, Text} ->
            port_command(Port, unicode:characters_to_binary(Text)),
            serve(Port);
        {Port, eof} ->
            halt(0)
    end.

value(Expression) ->
    json(try
        {ok, Tokens, _} = erl_scan:string(Expression),
        {ok, Forms} = erl_parse:parse_exprs(Tokens),
        {value, Result, _} = erl_eval:exprs(Forms, []),
        Result
    catch
        Class:Reason -> #{failed => lists:flatten(io_lib:format("~p: ~tp", [Class, Reason]))}
    end).

%% Return the value of a call on a node; a map with the one key `failed` if the node or the call fails. Do not wait for
%% a node without power. Repeated calls within one expression are cached: each node's view of fifty queues calls the
%% same masters and mirrors.
call(Node, Module, Function, Arguments, Timeout) ->
    Asked = {Node, Module, Function, Arguments},
    case get(Asked) of
        {answer, Answer} -> Answer;
        undefined ->
            Answer = called(Node, Module, Function, Arguments, Timeout),
            put(Asked, {answer, Answer}),
            Answer
    end.

called(Node, Module, Function, Arguments, Timeout) ->
    try
        get({unpowered, Node}) =:= undefined orelse error({erpc, timeout}),
        erpc:call(Node, Module, Function, Arguments, Timeout)
    catch
        error:{erpc, Reason} -> #{failed => Reason};
        error:{exception, Reason, _} -> #{failed => Reason};
        exit:{exception, Reason} -> #{failed => Reason};
        Class:Reason -> #{failed => {Class, Reason}}
    end.

%% Return the view of each node: the nodes that it sees, and the queues, or the reason of a failure. `Unpowered` are
%% nodes whose hosts have lost their power.
views(Nodes, Unpowered) ->
    [put({unpowered, Other}, true) || Other <- Unpowered],
    maps:from_list([{Node, view(Node)} || Node <- Nodes]).

view(Node) ->
    case seen(Node, 10000) of
        #{failed := _} = Failed -> Failed;
        Nodes ->
            try #{nodes => Nodes, queues => queues(Node)}
            catch Class:Reason -> #{nodes => Nodes, failed => {Class, Reason}}
            end
    end.

%% Return the members that a node sees: those that Mnesia runs with, or with Khepri those that it is connected to.
seen(Node, Timeout) ->
    case metadata(Node) of
        khepri -> call(Node, rabbit_nodes, list_reachable, [], Timeout);
        mnesia -> call(Node, rabbit_mnesia, cluster_nodes, [running], Timeout)
    end.

%% Return where a node keeps its metadata. Only Khepri has its own table of queues for reading.
metadata(Node) ->
    case call(Node, ets, whereis, [rabbit_khepri_queue], 10000) of
        Table when is_reference(Table) -> khepri;
        _ -> mnesia
    end.

%% Return the queues of which a node has a record. In Mnesia a durable queue whose node is down may be in the table on
%% disk alone, and where its process is dead that table has the node that will recover it. Khepri has one record of each
%% queue.
queues(Node) ->
    {DurableRows, LiveRows} = case metadata(Node) of
        khepri -> {[], rows(Node, rabbit_khepri_queue)};
        mnesia -> {rows(Node, rabbit_durable_queue), rows(Node, rabbit_queue)}
    end,
    Durable = maps:from_list([{amqqueue:get_name(Q), Q} || Q <- DurableRows]),
    Live = [{amqqueue:get_name(Q), Q} || Q <- LiveRows],
    [queue(Node, told(Node, Q, maps:get(Name, Durable, Q)), true) || {Name, Q} <- Live] ++
        [queue(Node, Q, false) || Q <- maps:values(maps:without([Name || {Name, _} <- Live], Durable))].

rows(Node, Table) -> erpc:call(Node, ets, tab2list, [Table], 10000).

%% Return the record in memory while the process's node counts as up, else the record on disk.
told(Node, Q, Durable) ->
    case amqqueue:get_pid(Q) of
        Pid when is_pid(Pid) ->
            case call(node(Pid), erlang, is_process_alive, [Pid], 2000) of
                true -> Q;
                false -> mirrored_as(Q, Durable);
                _ ->
                    case lists:member(node(Pid), seen(Node, 2000)) of
                        true -> Q;
                        false -> mirrored_as(Q, Durable)
                    end
            end;
        _ -> Q
    end.

%% Return the record on disk with the mirrors of the one in memory: mirrors are processes, which no disk has.
mirrored_as(Q, Durable) ->
    case erlang:function_exported(amqqueue, set_slave_pids, 2) andalso is_list(amqqueue:get_slave_pids(Q)) of
        true ->
            amqqueue:set_sync_slave_pids(
                amqqueue:set_slave_pids(Durable, amqqueue:get_slave_pids(Q)), amqqueue:get_sync_slave_pids(Q));
        false -> Durable
    end.

queue(Node, Q, Live) ->
    {resource, VHost, queue, Name} = amqqueue:get_name(Q),
    Type = amqqueue:get_type(Q),
    Own = case {Type, Live} of
        {rabbit_quorum_queue, true} -> quorum(Node, Q);
        {rabbit_stream_queue, true} -> stream(Node, Q);
        {_, false} when Type =/= rabbit_classic_queue -> leaderless(members(Q), []);
        _ -> mirroring(Node, Q, Live)
    end,
    Own#{vhost => VHost, name => Name, type => amqqueue:get_type(Q), durable => amqqueue:is_durable(Q),
         exclusive => amqqueue:get_exclusive_owner(Q) =/= none, auto_delete => amqqueue:is_auto_delete(Q),
         live => Live, process => amqqueue:get_pid(Q),
         policy => policy(amqqueue:get_policy(Q)), operator_policy => policy(amqqueue:get_operator_policy(Q))}.

mirroring(Node, Q, Live) ->
    Counts = case Live of
        true -> call(home(amqqueue:get_pid(Q)), rabbit_amqqueue, info, [Q, ?COUNTS], 2000);
        false -> #{failed => not_live}
    end,
    #{mirrored => call(Node, rabbit_mirror_queue_misc, is_mirrored, [Q], 2000),
      mirrors => living(mirrors(get_slave_pids, Q)), synchronised => living(mirrors(get_sync_slave_pids, Q)),
      recoverable => mirrors(get_recoverable_slaves, Q), backlog => backlog(mirrors(get_slave_pids, Q)),
      information => case Counts of
          #{failed := timeout} -> silent;
          #{} -> null;
          _ -> maps:from_list(Counts) end,
      consumers => case Live of true -> consumers(Q); false -> #{} end}.

%% Return each consumer's tag with its place at the queue.
consumers(Q) ->
    case call(home(amqqueue:get_pid(Q)), rabbit_amqqueue, consumers, [Q], 2000) of
        Consumers when is_list(Consumers) -> places(Consumers);
        _ -> #{}
    end.

places(Consumers) -> maps:from_list([{element(2, C), element(6, C)} || C <- Consumers]).

%% Return a quorum queue as a node sees it. The queue's record may name a former leader, and listings show figures of
%% the last tick: so the members to which the node is connected are called, and of several leaders the one of the latest
%% term counts. A leader that does not know of another member's later term leads no longer, and its figures are old.
quorum(Node, Q) ->
    {Ra, _} = amqqueue:get_pid(Q),
    Members = members(Q),
    Reached = [Node | case call(Node, erlang, nodes, [], 2000) of Nodes when is_list(Nodes) -> Nodes; _ -> [] end],
    Found = [{M, call(M, ets, lookup, [ra_state, Ra], 2000)} || M <- Members, lists:member(M, Reached)],
    States = [{M, element(2, Row)} || {M, [Row]} <- Found],
    Whole = length(States) =:= length(Members),
    case latest([M || {M, leader} <- States], [M || {M, _} <- States, not Whole], Ra) of
        none -> leaderless(Members, [M || {M, _} <- States]);
        Leader -> (leaderless(Members, [M || {M, _} <- States]))#{
            leader => Leader,
            information => #{messages => local_query(Leader, Ra, fun rabbit_fifo:query_messages_total/1),
                             messages_ready => local_query(Leader, Ra, fun rabbit_fifo:query_messages_ready/1),
                             messages_unacknowledged =>
                                 local_query(Leader, Ra, fun rabbit_fifo:query_messages_checked_out/1)},
            consumers => case local_query(Leader, Ra, fun rabbit_fifo:query_consumers/1) of
                Consumers when is_map(Consumers) -> places(maps:values(Consumers));
                _ -> #{}
            end}
    end.

leaderless(Members, Online) ->
    #{members => Members, online => Online, leader => null, information => null, consumers => #{}}.

%% Return a stream as the coordinator's member on a node sees it, without counts of messages: they are those of the last
%% tick.
stream(Node, Q) ->
    Members = case call(Node, rabbit_stream_coordinator, members, [maps:get(name, amqqueue:get_type_state(Q))], 2000) of
        {ok, Found} -> Found;
        _ -> #{}
    end,
    Online = [M || {M, {Pid, _}} <- maps:to_list(Members), is_pid(Pid), lives(Pid)],
    Told = leaderless(members(Q), Online),
    case [M || {M, {_, writer}} <- maps:to_list(Members), lists:member(M, Online)] of
        [Leader | _] -> Told#{leader => Leader, information => #{messages => null, messages_ready => null,
                                                                 messages_unacknowledged => null}};
        [] -> Told
    end.

lives(Pid) -> call(node(Pid), erlang, is_process_alive, [Pid], 2000) =:= true.

%% Return the leader of the latest term; none if another member has been in a later one.
latest([], _, _) -> none;
latest([Leader], [], _) -> Leader;
latest(Leaders, Others, Ra) ->
    {Term, Leader} = lists:max([{term(L, Ra), L} || L <- Leaders]),
    case lists:any(fun(Other) -> term(Other, Ra) > Term end, Others -- Leaders) of
        true -> none;
        false -> Leader
    end.

%% Return the member's term from a query: its metrics show that of the last tick, also for a new leader.
term(Node, Ra) ->
    case call(Node, ra, local_query, [{Ra, Node}, fun rabbit_fifo:query_messages_total/1], 2000) of
        {ok, {{_, Term}, _}, _} -> Term;
        _ -> -1
    end.

local_query(Node, Ra, Query) ->
    case call(Node, ra, local_query, [{Ra, Node}, Query], 2000) of
        {ok, {_, Value}, _} -> Value;
        _ -> null
    end.

%% Return the members' nodes. RabbitMQ 3.8 keeps them in a separate field, 4.3 with the name of each member's log.
members(Q) ->
    case erlang:function_exported(amqqueue, get_type_state, 1) of
        true ->
            case maps:get(nodes, amqqueue:get_type_state(Q), []) of
                #{} = Named -> maps:keys(Named);
                Nodes -> Nodes
            end;
        false -> amqqueue:get_quorum_nodes(Q)
    end.

%% Return mirrors by a field of the queue's record. RabbitMQ 4.0 has no mirrors, and its record has no such fields.
mirrors(Field, Q) ->
    case erlang:function_exported(amqqueue, Field, 1) of
        true -> amqqueue:Field(Q);
        false -> []
    end.

%% Return the mirrors whose processes run. The record keeps a mirror that refused promotion, and one whose node is down.
living(Pids) when is_list(Pids) -> [P || P <- Pids, call(node(P), erlang, is_process_alive, [P], 2000) =:= true];
living(Other) -> Other.

%% Return the length of the mirrors' message queues: for the master a synchronisation is over when it has sent all.
backlog(Pids) when is_list(Pids) ->
    Told = [call(node(P), erlang, process_info, [P, message_queue_len], 2000) || P <- Pids],
    lists:sum([Length || {message_queue_len, Length} <- Told]);
backlog(_) -> 0.

%% Return the queue's own node: any other node would wait for an answer across a broken link.
home(Pid) when is_pid(Pid) -> node(Pid);
home({_, Node}) -> Node;
home(_) -> none.

policy(undefined) -> null;
policy(Policy) -> proplists:get_value(name, Policy).

%% Return the names of a node's connections that are in flow control or blocked. The state `flow` outlasts flow control.
held_back(Node) ->
    Told = [call(Node, rabbit_networking, connection_info, [P, [client_properties, state]], 2000) ||
               P <- call(Node, rabbit_networking, local_connections, [], 2000)],
    [Name || [{client_properties, Properties}, {state, State}] <- Told, lists:member(State, [flow, blocked, blocking]),
             {<<"connection_name">>, longstr, Name} <- Properties].

%% Crash a queue's process on a node: the master's, a mirror's or a member's; without a node, the master's or leader's.
crash(Asked, Name, Node) ->
    Found = erpc:call(Asked, rabbit_amqqueue, lookup, [Name], 5000),
    Processes = [P || {ok, Q} <- [Found], P <- processes(Q, Node), is_pid(P), Node =:= none orelse node(P) =:= Node],
    case [P || P <- Processes, call(node(P), erlang, is_process_alive, [P], 5000) =:= true] of
        [Process | _] -> erpc:call(node(Process), erlang, exit, [Process, crash], 5000), ok;
        [] -> no_running_process
    end.

processes(Q, Node) ->
    case {amqqueue:get_pid(Q), Node} of
        {{Ra, Leader}, none} -> [call(Leader, erlang, whereis, [Ra], 5000)];
        {{Ra, _}, _} -> [call(Node, erlang, whereis, [Ra], 5000)];
        {Master, none} -> [Master];
        {Master, _} -> [Master | case mirrors(get_slave_pids, Q) of Pids when is_list(Pids) -> Pids; _ -> [] end]
    end.

%% Move a queue's master or leader. RabbitMQ's function for masters accepts any queue, so check first that it is
%% mirrored.
transfer(Asked, Name, There) ->
    case erpc:call(Asked, rabbit_amqqueue, lookup, [Name]) of
        {ok, Q} -> transfer(Asked, Q, There, amqqueue:get_type(Q));
        Refused -> Refused
    end.

transfer(Asked, Q, There, rabbit_quorum_queue) ->
    call(Asked, rabbit_quorum_queue, transfer_leadership, [Q, There], 60000);
transfer(Asked, Q, There, rabbit_stream_queue) ->
    call(Asked, rabbit_stream_queue, transfer_leadership, [Q, There], 200000);
transfer(Asked, Q, There, _) ->
    case erpc:call(Asked, rabbit_mirror_queue_misc, is_mirrored, [Q]) of
        true -> call(Asked, rabbit_mirror_queue_misc, transfer_leadership, [Q, There], 60000);
        false -> {error, not_mirrored}
    end.

json(Value) when is_atom(Value) -> case Value of
    true -> "true"; false -> "false"; null -> "null"; _ -> text(atom_to_list(Value)) end;
json(Value) when is_integer(Value) -> integer_to_list(Value);
json(Value) when is_float(Value) -> io_lib:format("~w", [Value]);
json(Value) when is_binary(Value) -> case unicode:characters_to_list(Value) of
    Text when is_list(Text) -> text(Text); _ -> text(binary_to_list(Value)) end;
json(Value) when is_pid(Value) -> json(node(Value));
json(Value) when is_map(Value) ->
    [${, lists:join($,, [[json(key(K)), $:, json(V)] || {K, V} <- maps:to_list(Value)]), $}];
json(Value) when is_tuple(Value) -> json(tuple_to_list(Value));
json([]) -> "[]";
json([_ | _] = Value) ->
    case io_lib:printable_unicode_list(Value) of
        true -> text(Value);
        false -> [$[, lists:join($,, [json(V) || V <- proper(Value)]), $]]
    end;
json(Value) -> text(io_lib:format("~tp", [Value])).

proper([Head | Tail]) when is_list(Tail) -> [Head | proper(Tail)];
proper([Head | Tail]) -> [Head, Tail];
proper([]) -> [].

key(K) when is_atom(K) -> atom_to_binary(K);
key(K) -> K.

text(Text) -> [$", [escaped(C) || C <- lists:flatten(Text)], $"].

escaped($") -> "\\\"";
escaped($\\) -> "\\\\";
escaped(C) when C < 32 -> io_lib:format("\\u~4.16.0b", [C]);
escaped(C) -> C.
