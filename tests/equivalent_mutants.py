# ruff: noqa: E501
"""Mutants of the rules that no scenario catches, each with the reason; `test_mutants` looks at all others.

Most decide exactly as the rule does; some would change what no scenario can show (`UNSEEN_…`).
"""

from __future__ import annotations

ALWAYS_SAID = "a default that nobody uses: whoever calls it says what it is"
SAME_SET = "the order decides nothing, only what is in it"
UNSEEN_QUORUM = "a setting of quorum queues, which have no rules here: they are shown as they stand"
UNSEEN_LIMIT = "hawb's guard against hostile patterns, which RabbitMQ has not, or the last of ten million steps, which PCRE2 counts otherwise"
UNSEEN_TYPE = "the reader of scenarios lets no such value through; tests/test_policy_validation.py holds it"
KEPT_FOR_NOW = "a replica that is kept in vain is dropped by the new master at once: it looks at its policy again"
TOLD_ONLY = "it is told to a person and decides nothing"
IMPLIED = "ha-mode stands in every policy that has it, and is in the list itself"

EQUIVALENT: dict[str, dict[str, list[str]]] = {
    "erlang_terms": {
        UNSEEN_TYPE: [
            "_flat: value)) + ']' raise TypeError(f'no Erlan…(value).__name__}') => value)) + ']' pass",
        ],
    },
    "patterns": {
        UNSEEN_LIMIT: [
            "FULL_STEPS_GROUPS: FULL_STEPS_GROUPS = 16 => FULL_STEPS_GROUPS = 17",
            "MEMORY_KIB: MEMORY_KIB = 65536 => MEMORY_KIB = 65537",
            "STEPS: = 10000000 => = 10000001",
            "_limits: FULL_STEPS_GROUPS // max(FULL_STEPS_GROU…d)(*LIMIT_HEAP=%d)' => FULL_STEPS_GROUPS return b'(*LIMIT_MATCH…d)(*LIMIT_HEAP=%d)'",
        ],
        "PCRE's texts are ASCII, and the longest does not fill a line": [
            "PatternError: unicode=False, column=0)) => unicode=True, column=0))",
            "PatternError: unicode=False, column=0)) => unicode=False, column=1))",
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
            "Policy: priority: int=0, apply_to: => priority: int=1, apply_to:",
        ],
        SAME_SET: [
            "Policy: for key in sorted(definition))) return => for key in reversed(list(sorted(definition))))) return",
            "Policy: for key in sorted(definition))) return => for key in definition)) return",
        ],
        "no quorum queue can be declared here, and 3.8 passes no policy over for classic ones": [
            "matching: declaring and (not profile.declare_knows_type) unsupported => declaring and profile.declare_knows_type unsupported",
            "matching: declaring and (not profile.declare_knows_type) unsupported => declaring unsupported",
        ],
    },
    "policy_validation": {
        "it was looked at before, and accepted": [
            "COMMON_SETTINGS: FEDERATION_SETTINGS - {'queue-master-loc…arget-group-size'}) => FEDERATION_SETTINGS - {'target-group-size'})",
        ],
        UNSEEN_TYPE: [
            "_pattern_error: isinstance(pattern, str): return _with_v…tern, show) error = => isinstance(pattern, str): pass error =",
            "_pattern_error: | None: if not isinstance(pattern, str):…tern, show) error = => | None: pass error =",
            "refusal: _is_integer(priority): return f'{show(pr… a number' errors = => _is_integer(priority): pass errors =",
            "refusal: fields['priority'] if not _is_integer(pr… a number' errors = => fields['priority'] pass errors =",
        ],
    },
    "profiles": {
        "4.0 has no mirrors: nothing synchronises, moves or is rebalanced": [
            "PROFILES: limits_sync_throughput=True, drain_moves_masters=False, => limits_sync_throughput=False, drain_moves_masters=False, (4)",
            "PROFILES: rebalance_spares_drained=True, late_answers_count=True, => rebalance_spares_drained=False, late_answers_count=True, (4)",
            "PROFILES: late_answers_count=True, unicode_errors=True)} => late_answers_count=False, unicode_errors=True)}",
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
        "only a list's value that just fills a line would be broken elsewhere": [
            "_leaf: unicode=False, column=0) => unicode=False, column=1)",
        ],
        "its type was looked at before all others": [
            "CHECKS: 'x-dead-letter-exchange': _of_type(str),…etter-routing-key': => 'x-dead-letter-routing-key':",
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
    },
}
"""By module and reason, as `mutator` describes them."""
