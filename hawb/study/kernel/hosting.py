"""The group and its host: `hawb.engine.raft_groups` with the kernel's ports."""

from __future__ import annotations

from hawb.engine.cluster import node_ports as node_ports_of_turns
from hawb.engine.raft_groups import elections, flowing, leadership, ports
from hawb.engine.raft_groups import hosting as hosting_of_turns
from hawb.study.compiled import Binding
from hawb.study.kernel import host_ports, node_ports
from hawb.study.kernel.raft import PROTOCOL

NODES = Binding(node_ports_of_turns.PORTS, node_ports, PROTOCOL)
HOST = Binding(ports.PORTS, host_ports, NODES)

message_arrives, written = HOST.of(hosting_of_turns.message_arrives), HOST.of(hosting_of_turns.written)
stand_for_election = HOST.of(hosting_of_turns.stand_for_election)
election_due, call_elections = HOST.of(hosting_of_turns.election_due), HOST.of(elections.call_elections)
member_up, member_down = HOST.of(hosting_of_turns.member_up), HOST.of(hosting_of_turns.member_down)
add_member, lose_member = HOST.of(hosting_of_turns.add_member), HOST.of(hosting_of_turns.lose_member)
removal_written = HOST.of(hosting_of_turns.removal_written)
remove_member_of_forgotten = HOST.of(hosting_of_turns.remove_member_of_forgotten)
stop_member, look_around = HOST.of(hosting_of_turns.stop_member), HOST.of(hosting_of_turns.look_around)
hosts, is_led, latest_leader = map(HOST.of, (leadership.hosts, leadership.is_led, leadership.latest_leader))
level, refresh = HOST.of(leadership.level), HOST.of(leadership.refresh)
commit_at_once, enter_at_once = HOST.of(flowing.commit_at_once), HOST.of(flowing.enter_at_once)
replace_member_of_store = HOST.of(flowing.replace_member_of_store)
remove_member_of_store = HOST.of(flowing.remove_member_of_store)
elect_at_once, takes_flows = HOST.of(flowing.elect_at_once), HOST.of(flowing.takes_flows)
