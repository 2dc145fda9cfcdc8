# ruff: noqa: E501
"""Mutants of the rules that no scenario catches, each with the reason; `test_mutants` looks at all others.

Most decide exactly as the rule does; some would change what no scenario can show (`UNSEEN_…`).
"""

from __future__ import annotations

ALWAYS_SAID = "a default that nobody uses: whoever calls it says what it is"
BY_COUNT = "only compared with counts that are counted in the same way"
SAME_SET = "the order decides nothing, only what is in it"
UNSEEN_QUORUM = "a setting of quorum queues, which have no rules here: they are shown as they stand"
UNSEEN_LIMIT = "what a hostile search may take is more than a scenario should; tests/test_patterns.py holds it"
UNSEEN_TYPE = "the reader of scenarios lets no such value through; tests/test_policy_validation.py holds it"
KEPT_FOR_NOW = "a replica that is kept in vain is dropped by the new master at once: it looks at its policy again"
TOLD_ONLY = "it is told to a person and decides nothing"
IMPLIED = "ha-mode stands in every policy that has it, and is in the list itself"

EQUIVALENT: dict[str, dict[str, list[str]]] = {
    "erlang_terms": {
        "both texts are equally long": [
            "ESCAPES: '\"\\\\nrtvbfe', strict=True)) => '\"\\\\nrtvbfe', strict=False))",
        ],
        UNSEEN_TYPE: [
            "_flat: value)) + ']' raise TypeError(f'no Erlan…(value).__name__}') => value)) + ']' pass",
        ],
        ALWAYS_SAID: [
            "erlang_term: unicode: bool=False, column: => unicode: bool=True, column:",
            "erlang_term: column: int=0) -> str: => column: int=1) -> str:",
        ],
    },
    "locators": {
        "the node that declares runs, so there is a candidate, and a single one is that node": [
            "locate: len(candidates) == 0: return => len(candidates) == 1: return",
            "locate: CLIENT_LOCAL or len(candidates) == 0: return => CLIENT_LOCAL: return",
        ],
    },
    "patterns": {
        UNSEEN_LIMIT: [
            "FULL_STEPS_GROUPS: FULL_STEPS_GROUPS = 16 => FULL_STEPS_GROUPS = 17",
            "MEMORY_KIB: MEMORY_KIB = 65536 => MEMORY_KIB = 65537",
            "PATTERN_LIMIT_BYTES: PATTERN_LIMIT_BYTES = 65535 => PATTERN_LIMIT_BYTES = 65536",
            "STEPS: = 10000000 => = 10000001",
            "_compiled: PATTERN_LIMIT_BYTES: raise PatternError(…IT_BYTES) rewritten => PATTERN_LIMIT_BYTES: pass rewritten",
            "_compiled: len(source) > PATTERN_LIMIT_BYTES: => len(source) >= PATTERN_LIMIT_BYTES:",
            "_compiled: _bytes(pattern) if len(source) > PATTERN…IT_BYTES) rewritten => _bytes(pattern) pass rewritten",
            "_limits: FULL_STEPS_GROUPS // max(FULL_STEPS_GROU…d)(*LIMIT_HEAP=%d)' => FULL_STEPS_GROUPS return b'(*LIMIT_MATCH…d)(*LIMIT_HEAP=%d)'",
        ],
        "the place that PCRE2 gives is not that of Erlang in any case": [
            "PCRE_ERRORS: length', 0), 134: ('character => length', 1), 134: ('character",
        ],
        "it is as fast, and counts steps otherwise; what the tests hold is not far from the limit": [
            "_compiled: rewritten, jit=False) except => rewritten, jit=True) except",
        ],
    },
    "policies": {
        UNSEEN_QUORUM: [
            "MERGES: 'max-in-memory-bytes': min, 'delivery-limit': => 'max-in-memory-bytes': max, 'delivery-limit':",
            "MERGES: 'target-group-size': max, 'ha-mode': => 'target-group-size': min, 'ha-mode':",
            "MERGES: 'max-in-memory-bytes': min, 'delivery-li…target-group-size': => 'max-in-memory-bytes': min, 'target-group-size':",
            "MERGES: 'max-in-memory-length': min, 'max-in-memory-bytes': => 'max-in-memory-length': max, 'max-in-memory-bytes':",
            "MERGES: 'max-length-bytes': min, 'max-in-memory-length': => 'max-length-bytes': max, 'max-in-memory-length':",
            "MERGES: 'max-in-memory-length': min, 'max-in-mem…, 'delivery-limit': => 'max-in-memory-length': min, 'delivery-limit':",
            "MERGES: _stricter_delivery_limit, 'target-group-…e': max, 'ha-mode': => _stricter_delivery_limit, 'ha-mode':",
            "MERGES: 'max-in-memory-length': min, 'max-in-memory-bytes': min, => 'max-in-memory-bytes': min,",
            "_stricter_delivery_limit: operator_value) < 0 else min)(value, => operator_value) >= 0 else min)(value,",
            "_stricter_delivery_limit: operator_value) < 0 else min)(value, => operator_value) < 1 else min)(value,",
            '_stricter_delivery_limit: counts.""" return (max if min(value, ope…ue, operator_value) => counts.""" pass',
            "_stricter_delivery_limit: 0 else min)(value, => 0 else max)(value,",
            "_stricter_delivery_limit: return (max if min(value, => return (min if min(value,",
            "_stricter_delivery_limit: (max if min(value, operator_value) => (max if max(value, operator_value)",
            "_stricter_delivery_limit: operator_value) < 0 else min)(value, => operator_value) <= 0 else min)(value,",
        ],
        ALWAYS_SAID: [
            "Mirroring: count: int = 0 nodes: tuple[str, => count: int = 1 nodes: tuple[str,",
            "Mirroring: SyncMode.MANUAL sync_batch_size: => SyncMode.AUTOMATIC sync_batch_size:",
            "Mirroring: Promote.WHEN_SYNCED promote_on_failure: => Promote.ALWAYS promote_on_failure:",
            "Mirroring: Promote.ALWAYS => Promote.WHEN_SYNCED",
            "Policy: priority: int=0, apply_to: => priority: int=1, apply_to:",
            "Policy: priority: int = 0 apply_to: => priority: int = 1 apply_to:",
            "effective: declaring: bool=False) -> Policy => declaring: bool=True) -> Policy",
            "matching: declaring: bool=False) -> list[Policy]: => declaring: bool=True) -> list[Policy]:",
        ],
        SAME_SET: [
            "Policy: for key in sorted(definition))) return => for key in reversed(list(sorted(definition))))) return",
            "Policy: for key in sorted(definition))) return => for key in definition)) return",
            "_wider_params: given in (value, operator_value) if isinstance(given, => given in reversed(list((value, operator_…f isinstance(given,",
            "effective_definition: for key in sorted(merged)} => for key in merged}",
            "effective_definition: value in (operator_policy.definition if …tems(): merged[key] => value in reversed(list((operator_policy.…ms())): merged[key]",
            "matching: policy in policies if policy.vhost => policy in reversed(list(policies)) if policy.vhost",
            "matching: key, _ in policy.settings)) and matches(policy.pattern, => key, _ in reversed(list(policy.settings)…hes(policy.pattern,",
        ],
        "lists come as lists, and what matters is what is in them": [
            "_frozen: isinstance(value, list | tuple) else => isinstance(value, tuple) else",
            "_frozen: isinstance(value, list | tuple) else value => isinstance(value, list) else value",
        ],
        "the three modes happen to be in alphabetical order": [
            "_wider_mode: operator_value, key=['all', 'exactly', 'nodes'].index) => operator_value)",
        ],
        "only the lab asks for the one policy; the engine asks for all that match": [
            'effective: `matching`.""" return next(iter(matching… declaring)), None) => `matching`.""" pass',
        ],
        "no quorum queue can be declared here, and 3.8 passes no policy over for classic ones": [
            "matching: declaring and (not profile.declare_knows_type) unsupported => declaring and profile.declare_knows_type unsupported",
            "matching: declaring and (not profile.declare_knows_type) unsupported => declaring unsupported",
        ],
        "a count is read under exactly alone": [
            "mirroring: HaMode.EXACTLY else 0, nodes=tuple(params) => HaMode.EXACTLY else 1, nodes=tuple(params)",
        ],
    },
    "policy_validation": {
        "it was looked at before, and accepted": [
            "COMMON_SETTINGS: FEDERATION_SETTINGS - {'queue-master-loc…arget-group-size'}) => FEDERATION_SETTINGS - {'target-group-size'})",
        ],
        ALWAYS_SAID: [
            "_definition_error: operator: bool=False) -> str => operator: bool=True) -> str",
            "refusal: fields.get('priority', 0) if not => fields.get('priority', 1) if not",
            "refusal: operator: bool=False) -> str => operator: bool=True) -> str",
        ],
        SAME_SET: [
            "_definition_error: for key in sorted(definition) if key in => for key in definition if key in",
        ],
        UNSEEN_TYPE: [
            "_pattern_error: isinstance(pattern, str): return _with_v…tern, show) error = => isinstance(pattern, str): pass error =",
            "_pattern_error: | None: if not isinstance(pattern, str):…tern, show) error = => | None: pass error =",
            "refusal: _is_integer(priority): return f'{show(pr… a number' errors = => _is_integer(priority): pass errors =",
            "refusal: fields.get('priority', 0) if not _is_int… a number' errors = => fields.get('priority', 0) pass errors =",
        ],
    },
    "profiles": {
        "4.0 has no mirrors: nothing synchronises, moves or is rebalanced": [
            "PROFILES: limits_sync_throughput=True, drain_moves_masters=False, => limits_sync_throughput=False, drain_moves_masters=False, (4)",
            "PROFILES: rebalance_spares_drained=True, unicode_errors=True)} => rebalance_spares_drained=False, unicode_errors=True)}",
            "PROFILES: drain_moves_masters=False, rebalance_spares_drained=True, => drain_moves_masters=True, rebalance_spares_drained=True, (4)",
        ],
        UNSEEN_QUORUM: [
            "PROFILES: declare_knows_type=False, quorum_cluster_size=None, => declare_knows_type=True, quorum_cluster_size=None,",
            "PROFILES: declare_knows_type=True, quorum_cluster_size=3, => declare_knows_type=False, quorum_cluster_size=3,",
            "PROFILES: declare_knows_type=True, quorum_cluster_size=3, => declare_knows_type=False, quorum_cluster_size=3, (2)",
            "PROFILES: declare_knows_type=True, quorum_cluster_size=3, => declare_knows_type=False, quorum_cluster_size=3, (3)",
            "PROFILES: declare_knows_type=True, quorum_cluster_size=3, => declare_knows_type=False, quorum_cluster_size=3, (4)",
            "Profile: quorum_commands_soft_limit: int = 32 @property => quorum_commands_soft_limit: int = 33 @property",
        ],
        TOLD_ONLY: [
            "PROFILES: Profile(version='3.13', release='3.13.7', => Profile(version='3.10', release='3.13.7',",
            "PROFILES: release='3.13.7', apply_to=_APPLY_TO_3_12, => release='3.10.8', apply_to=_APPLY_TO_3_12,",
            "PROFILES: release='3.10.8', apply_to=_APPLY_TO, => release='3.8.9', apply_to=_APPLY_TO,",
            "PROFILES: release='4.0.5', apply_to=_APPLY_TO_3_12, => release='3.13.7', apply_to=_APPLY_TO_3_12,",
        ],
        "only the lab asks": [
            "Profile: 'ha-mode' in self.policy_settings => 'ha-mode' not in self.policy_settings",
            'Profile: mirrored.""" return \'ha-mode\' in self.po…nsupported_by(self, => mirrored.""" pass def unsupported_by(self,',
        ],
        IMPLIED: [
            "_NOT_IN_QUORUM: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-shutdown queue-master-locator",
            "_NOT_IN_QUORUM: ha-params ha-sync-mode ha-promote-on-shutdown => ha-params ha-promote-on-shutdown",
            "_NOT_IN_QUORUM: ha-mode ha-params ha-sync-mode => ha-mode ha-sync-mode",
            "_NOT_IN_QUORUM: single-active-consumer ha-mode ha-params ha-sync-mode => single-active-consumer ha-params ha-sync-mode",
            "_NOT_IN_QUORUM: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-failure queue-master-locator",
        ],
        "no queue has such a policy setting, only arguments": [
            "_NOT_IN_QUORUM: _settings('max-priority queue-mode => _settings('queue-mode",
            "_NOT_IN_QUORUM: queue-mode single-active-consumer ha-mode ha-params => queue-mode ha-mode ha-params",
        ],
    },
    "limits": {
        TOLD_ONLY: [
            "LIMIT_SETTINGS: frozenset(SMALLER.values()) | frozenset(…NTS_FIRST.values()) => frozenset(SMALLER.values())",
            "LIMIT_SETTINGS: frozenset(SMALLER.values()) | frozenset(…NTS_FIRST.values()) => frozenset(ARGUMENTS_FIRST.values())",
        ],
        SAME_SET: [
            "limits: setting in (SMALLER | ARGUMENTS_FIRST).items(): values => setting in reversed(list((SMALLER | ARGU…).items())): values",
        ],
    },
    "partitions": {
        SAME_SET: [
            "is_preferred: node in preferred: if node => node in reversed(list(preferred)): if node",
        ],
    },
    "promotion": {
        "running nodes without a mirror were struck from the list before": [
            "offline_heir: in members and (node not in running): return => in members: return",
        ],
        "a node that is forgotten is no member any more": [
            "offline_heir: if node != forgotten and node in members…in running): return => if node in members and node not in running: return",
        ],
        "mirrors join one by one": [
            "recoverable_mirrors: node in mirrors if node => node in reversed(list(mirrors)) if node",
        ],
    },
    "queue_arguments": {
        "its type was looked at before all others": [
            "CHECKS: 'x-dead-letter-exchange': _of_type(str),…etter-routing-key': => 'x-dead-letter-routing-key':",
        ],
        "no classic queue is ever declared with these, so there is nothing to compare": [
            "COMPARED: (*CHECKED, *sorted(OF_OTHER_TYPES - {'x-delivery-limit'})) => (*CHECKED,)",
            "COMPARED: (*CHECKED, *sorted(OF_OTHER_TYPES - {'x-delivery-limit'})) => (*CHECKED, *OF_OTHER_TYPES - {'x-delivery-limit'})",
            "COMPARED: *sorted(OF_OTHER_TYPES - {'x-delivery-limit'})) => *sorted(OF_OTHER_TYPES))",
            "COMPARED: *sorted(OF_OTHER_TYPES - {'x-delivery-limit'})) => *sorted(OF_OTHER_TYPES - {*()}))",
        ],
        "not equivalent, but a set's order is chance: whether a scenario catches it depends on the hash seed": [
            "refusal: terse else sorted(arguments.keys() & OF_…urn next((f\"invalid => terse else arguments.keys() & OF_OTHER_T…urn next((f\"invalid",
        ],
    },
    "rebalancing": {
        BY_COUNT: [
            "destination: count = 0 for master => count = 1 for master",
            "destination: count += 1 if chosen => count += 2 if chosen",
            "destination: master in masters: if master => master in reversed(list(masters)): if master",
            "destination: NOTHING fewest = 0 for node => NOTHING pass for node",
            "destination: fewest = 0 for node => fewest = 1 for node",
        ],
    },
    "selection": {
        SAME_SET: [
            "exactly: len(kept) return [master] + kept + [shuffled[i] => len(kept) return kept + [master] + [shuffled[i]",
            "exactly: for i in range(min(count - 1, len(mirrors)))] missing => for i in reversed(list(range(min(count -…rrors)))))] missing",
        ],
        KEPT_FOR_NOW: [
            "listed_nodes: synchronised[0] for node in candidates: …break return [heir] => synchronised[0] pass return [heir]",
            "listed_nodes: synchronised: heir = node break return => synchronised: pass break return",
            "listed_nodes: candidates: if node in synchronised: hei…break return [heir] => candidates: pass return [heir]",
            "listed_nodes: node in candidates: if node => node in reversed(list(candidates)): if node",
            "listed_nodes: heir = node break return [heir] => heir = node pass return [heir]",
        ],
        "a mirror that is there already does not join again": [
            "listed_nodes: available] candidates = without_repeats(… if len(candidates) => available] pass if len(candidates)",
            "without_repeats: range(len(nodes)) if nodes[i] not in nodes[:i]] => range(len(nodes))]",
        ],
        "the available nodes come in alphabetical order": [
            "listed_nodes: node in available if node => node in reversed(list(available)) if node",
            "listed_nodes: candidates = sorted([node for node in av…]) else: candidates => candidates = [node for node in available…r] else: candidates",
        ],
    },
}
"""By module and reason, as `mutator` describes them."""
