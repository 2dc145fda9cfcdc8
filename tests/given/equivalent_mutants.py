# ruff: noqa: E501
"""Mutants of the rules that no scenario catches, each with the reason; `test_mutants` looks at all others.

Most decide exactly as the rule does; some would change what no scenario can show (`UNSEEN_…`).
"""

from __future__ import annotations

ALWAYS_SAID = "a default that nobody uses: whoever calls it says what it is"
BY_BEGINNING = "a scenario's policies are found by `beginnings.ByBeginning`; tests/rules/test_policies.py holds this order"
SAME_SET = "the order decides nothing, only what is in it"
UNSEEN_GROWTH = "4.0 would add members by itself up to it, which is not simulated"
UNSEEN_MANY = "it takes a thousand queues, which no story has; tests/rules/test_quorum_rules.py holds it"
UNSEEN_CUT = "at which message exactly a log is cut no story shows; tests/rules/test_quorum_rules.py holds the numbers"
UNSEEN_LIMIT = "hawb's guard against hostile patterns, which RabbitMQ has not, or the last of ten million steps, which PCRE2 counts otherwise"
UNSEEN_TYPE = "the reader of scenarios lets no such value through; tests/rules/test_policy_validation.py holds it"
KEPT_FOR_NOW = "a replica that is kept in vain is dropped by the new master at once: it looks at its policy again"
SHOWN_ONLY = "it is shown to a person and decides nothing"
UNASKED = "3.8 makes no channel known to a queue"
UNSEEN_PATIENCE = "a node waits in vain in stories of 3.10 only, ten minutes on a real cluster; tests/scenario/test_run.py holds the others"
UNSEEN_RELEASE = "no story of that release drops transient messages; tests/engine/test_copies_deliveries.py asks each"
UNSEEN_CHECK = "what a health check counts no story shows; tests/planning/test_safe_to_stop.py holds it"
UNSEEN_AGE = "no story of 4.3 declares a stream with x-max-age again; tests/rules/test_streams_declared.py holds it"
IMPLIED = "ha-mode stands in every policy that has it, and is in the list itself"

EQUIVALENT: dict[str, dict[str, list[str]]] = {
    "erlang_terms": {
        UNSEEN_TYPE: [
            "_flat: value)) + ']' raise TypeError(f'no Erlan…(value).__name__}') => value)) + ']' pass",
        ],
    },
    "consumer_timeouts": {
        "a microsecond more, which no story of a real broker shows": ["TICK_US: = 60000000 => = 60000001"],
    },
    "patterns": {
        "a budget of steps is in force in commands alone; tests/rules/test_patterns.py holds it": [
            "TooSlow: policy) self.pattern, self.policy = (pat…, policy) @property => policy) pass @property",
            "TooSlow: self.policy = (pattern, policy) @property => self.policy = (policy,) @property",
            "TooSlow: (pattern, policy) @property => (pattern,) @property",
            "TooSlow: policy.\"\"\" of = 'the pattern' if self.po…cy)}' return f'{of} => policy.\"\"\" pass return f'{of}",
            "TooSlow: {_cut(self.policy)}' return f'{of} takes…to match' @property => {_cut(self.policy)}' pass @property",
            "TooSlow: cut.\"\"\" return _cut(self.pattern) def __str__(self) => cut.\"\"\" pass def __str__(self)",
            "TooSlow: -> str: return f'{self.problem}\\n given:…d: {self.accepted}' => -> str: pass",
            "Budget: already.\"\"\" if _budget.get() is not None…ield return token = => already.\"\"\" pass token =",
            "Budget: _budget.get() is not None: yield => _budget.get() is None: yield",
            "Budget: (pattern, name, steps) if => (pattern, steps) if",
            "Budget: (pattern, name, steps) if search => (pattern, name) if search",
            "Budget: name, steps) if search in self._paid: return if steps => name, steps) pass if steps",
            "Budget: if search in self._paid: => if search not in self._paid:",
            "Budget: self._paid: return if steps => self._paid: pass if steps",
            "Budget: self.left: raise TooSlow(pattern) self._paid.add(search) => self.left: pass self._paid.add(search)",
            "Budget: TooSlow(pattern) self._paid.add(search) self.left => TooSlow(pattern) pass self.left",
            "Budget: self._paid.add(search) self.left -= steps => self._paid.add(search) pass",
            "outcome: found is not Match.GAVE_UP => found is Match.GAVE_UP",
            "outcome: not Match.GAVE_UP else _with_more_steps(pattern, => not Match.NO else _with_more_steps(pattern,",
            "_with_more_steps: _budget.get()) while steps < STEPS: step…eturn Match.GAVE_UP => _budget.get()) pass return Match.GAVE_UP",
            "_with_more_steps: while steps < STEPS: steps => while steps >= STEPS: steps",
            "_with_more_steps: steps = min(4 * steps, => steps = max(4 * steps,",
            "_with_more_steps: steps = min(4 * steps, => steps = min(5 * steps,",
            "_with_more_steps: steps, STEPS) if budget is not None: bud…e, steps) if (found => steps, STEPS) pass if (found",
            "_with_more_steps: budget is not None: budget.pay(pattern, => budget is None: budget.pay(pattern,",
            "_with_more_steps: not None: budget.pay(pattern, name, steps) if (found => not None: pass if (found",
            "_with_more_steps: name, steps) if (found := search(pattern…eturn Match.GAVE_UP => name, steps) pass return Match.GAVE_UP",
            "_with_more_steps: steps)) is not Match.GAVE_UP: => steps)) is Match.GAVE_UP:",
            "_with_more_steps: not Match.GAVE_UP: return => not Match.NO: return",
            "TooSlow: self.policy is None else => self.policy is not None else",
            "Budget: self._paid: return if steps > self.left:…f._paid.add(search) => self._paid: return pass self._paid.add(search)",
            "_with_more_steps: Match.GAVE_UP: return found return Match.GAVE_UP => Match.GAVE_UP: pass return Match.GAVE_UP",
            "_limits: pattern.\"\"\" steps = steps * FULL_STEPS_G…d)(*LIMIT_HEAP=%d)' => pattern.\"\"\" pass return b'(*LIMIT_MATCH=%d)(*LIMIT_HEAP=%d)'",
        ],
        "Python finds the same as PCRE in simple patterns, sooner; tests/rules/test_patterns.py holds it": [
            "MOST_SIMPLE: MOST_SIMPLE = 255 => MOST_SIMPLE = 256",
            "_compiled: _bytes(pattern) if len(source) <= MOST_S…imple[1]) rewritten => _bytes(pattern) pass rewritten",
            "_compiled: _bytes(pattern) if len(source) <= MOST_SIMPLE and (simple := => _bytes(pattern) if (simple :=",
            "_compiled: len(source) <= MOST_SIMPLE => len(source) > MOST_SIMPLE",
            "_compiled: len(source) <= MOST_SIMPLE => len(source) < MOST_SIMPLE",
            "_compiled: SIMPLE.fullmatch(source)): return re.com…imple[1]) rewritten => SIMPLE.fullmatch(source)): pass rewritten",
        ],
        "lessons and the audit of a fleet ask it, no scenario; tests/rules/test_patterns.py holds it": [
            "matches: refuses. \"\"\" return outcome(pattern, name) is Match.YES => refuses. \"\"\" pass",
            "matches: name) is Match.YES => name) is not Match.YES",
            "matches: is Match.YES => is Match.GAVE_UP",
            "searched: once.\"\"\" found = _search(pattern, name, …STEPS) return found => once.\"\"\" pass return found",
            "searched: FREE_STEPS) return found if found is not…ern, name, _search) => FREE_STEPS) pass",
            "searched: found is not Match.GAVE_UP => found is Match.GAVE_UP",
            "searched: not Match.GAVE_UP else _with_more_steps(pattern, => not Match.NO else _with_more_steps(pattern,",
        ],
        "nothing reads the arguments of this error": [
            "TooSlow: -> None: super().__init__(pattern, policy) self.pattern, => -> None: pass self.pattern,",
        ],
        "it decides how many steps searches may take, or how much of a pattern a message shows": [
            "LONGEST: LONGEST = 80 => LONGEST = 81",
            "MOST_STEPS: 100000000 => 100000001",
            "Budget: if steps > self.left: => if steps >= self.left:",
            "Budget: search = (pattern, name, steps) => search = (name, steps)",
            "FREE_STEPS: FREE_STEPS = 1000 => FREE_STEPS = 1001",
            "_kept: lru_cache(maxsize=65536)(_search) => lru_cache(maxsize=65537)(_search)",
            "_cut: line.\"\"\" return repr(text[:LONGEST]) + (… > LONGEST else '') => line.\"\"\" pass",
            "_cut: repr(text[:LONGEST]) + ('...' if => repr(text[:LONGEST]) - ('...' if",
            "_cut: repr(text[:LONGEST]) + ('...' => repr(text[LONGEST:]) + ('...'",
            "_cut: len(text) > LONGEST => len(text) <= LONGEST",
            "_cut: len(text) > LONGEST => len(text) >= LONGEST",
        ],
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
        BY_BEGINNING: [
            "matching: policy in found if matched(policy, => policy in reversed(list(found)) if matched(policy,",
        ],
        UNSEEN_GROWTH: [
            "MERGES: _stricter_delivery_limit, 'target-group-…delayed-retry-min': => _stricter_delivery_limit, 'delayed-retry-min':",
            "MERGES: 'target-group-size': max, 'delayed-retry-min': => 'target-group-size': min, 'delayed-retry-min':",
        ],
        ALWAYS_SAID: [
            "Policy: priority: int=0, apply_to: => priority: int=1, apply_to:",
        ],
        SAME_SET: [
            "Policy: for key in sorted(definition))) return => for key in reversed(list(sorted(definition))))) return",
            "Policy: for key in sorted(definition))) return => for key in definition)) return",
        ],
    },
    "policy_validation": {
        UNSEEN_TYPE: [
            "_pattern_error: isinstance(pattern, str): return _with_v…tern, show) error = => isinstance(pattern, str): pass error =",
            "_pattern_error: | None: if not isinstance(pattern, str):…tern, show) error = => | None: pass error =",
            "refusal: _is_integer(priority): return f'{show(pr… try: of_definition => _is_integer(priority): pass try: of_definition",
            "refusal: fields['priority'] if not _is_integer(pr… try: of_definition => fields['priority'] pass try: of_definition",
        ],
    },
    "profiles": {
        "no story of 3.8 or 3.10 gives a queue a timeout; tests/rules/test_consumer_timeouts.py holds it": [
            "_PROFILE_3_8: queues_set_consumer_timeout=False) => queues_set_consumer_timeout=True)",
        ],
        UNSEEN_RELEASE: [
            "_PROFILE_3_8: counts_deliveries=False, requeues_at_mirrors=False, => counts_deliveries=True, requeues_at_mirrors=False,",
        ],
        UNSEEN_PATIENCE: [
            "_PROFILE_3_13: lone_boot_rounds=1, requeues_at_mirrors=True, => lone_boot_rounds=2, requeues_at_mirrors=True,",
        ],
        "only the lab asks": [
            "Profile: 'ha-mode' in self.policy_settings => 'ha-mode' not in self.policy_settings",
            'Profile: mirrored.""" return \'ha-mode\' in self.po…nsupported_by(self, => mirrored.""" pass def unsupported_by(self,',
        ],
        IMPLIED: [
            "_NOT_IN_STREAM_3_10: ha-mode ha-params ha-sync-mode => ha-mode ha-sync-mode",
            "_NOT_IN_STREAM_3_10: ha-params ha-sync-mode ha-promote-on-shutdown => ha-params ha-promote-on-shutdown",
            "_NOT_IN_STREAM_3_10: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-failure queue-master-locator",
            "_NOT_IN_STREAM_3_10: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-shutdown queue-master-locator",
            "_NOT_IN_QUORUM: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-shutdown queue-master-locator",
            "_NOT_IN_QUORUM: ha-params ha-sync-mode ha-promote-on-shutdown => ha-params ha-promote-on-shutdown",
            "_NOT_IN_QUORUM: ha-mode ha-params ha-sync-mode => ha-mode ha-sync-mode",
            "_NOT_IN_QUORUM: single-active-consumer ha-mode ha-params ha-sync-mode => single-active-consumer ha-params ha-sync-mode",
            "_NOT_IN_QUORUM: ha-promote-on-shutdown ha-promote-on-fai…ueue-master-locator => ha-promote-on-failure queue-master-locator",
        ],
        "no queue has such a policy setting, only arguments": [
            "_NOT_IN_STREAM_3_10: max-in-memory-bytes max-priority overflow => max-in-memory-bytes overflow",
            "_NOT_IN_STREAM_3_10: queue-mode single-active-consumer delivery-limit => queue-mode delivery-limit",
            "_NOT_IN_QUORUM: _settings('max-priority queue-mode => _settings('queue-mode",
            "_NOT_IN_QUORUM: queue-mode single-active-consumer ha-mode ha-params => queue-mode ha-mode ha-params",
        ],
    },
    "limits": {
        SHOWN_ONLY: [
            "LIMIT_SETTINGS: frozenset(SMALLER.values()) | frozenset(…NTS_FIRST.values()) => frozenset(SMALLER.values())",
            "LIMIT_SETTINGS: frozenset(SMALLER.values()) | frozenset(…NTS_FIRST.values()) => frozenset(ARGUMENTS_FIRST.values())",
        ],
    },
    "promotion": {
        "running nodes without a mirror were struck from the list before": [
            "offline_candidate: in members and (node not in running): return => in members: return",
        ],
        "a node that is forgotten is no member any more": [
            "offline_candidate: if node != forgotten and node in members…in running): return => if node in members and node not in running: return",
        ],
        "mirrors join one by one": [
            "recoverable_mirrors: node in mirrors if node => node in reversed(list(mirrors)) if node",
        ],
    },
    "queue_arguments": {
        "only a list's value that just fills a line would be broken elsewhere": [
            "_leaf: unicode, column=0) return => unicode, column=1) return",
        ],
        "its type was looked at before all others": [
            "CHECKS: 'x-dead-letter-exchange': _of_type(str),…etter-routing-key': => 'x-dead-letter-routing-key':",
        ],
    },
    "quorum": {
        "at that very entry a 4.3.6 node answers otherwise, which no rule explains; tests/rules/test_quorum_rules.py holds it": [
            "MAX_UNANSWERED: MAX_UNANSWERED = 4096 => MAX_UNANSWERED = 4097",
            "is_sent_all: match_index <= MAX_UNANSWERED => match_index < MAX_UNANSWERED",
        ],
        UNSEEN_MANY: [
            "MANY_QUEUES: MANY_QUEUES = 1000 => MANY_QUEUES = 1001",
            'others_by_chance: first.""" return [node for node in shuff…ode not in running] => first.""" pass',
            "others_by_chance: if node in running] + [node for node in …ode not in running] => if node not in running] + [node for node…if node in running]",
            "others_by_chance: node in shuffled if node => node in reversed(list(shuffled)) if node",
            "others_by_chance: shuffled if node in running] + [node => shuffled] + [node",
            "others_by_chance: if node in running] => if node not in running]",
            "others_by_chance: node in shuffled if node => node in reversed(list(shuffled)) if node (2)",
            "others_by_chance: shuffled if node not in running] => shuffled]",
            "others_by_chance: if node not in running] => if node in running]",
            "leader_strategy: RANDOM if strategy == MIN_MASTERS and queues_count => RANDOM if queues_count",
            "leader_strategy: strategy == MIN_MASTERS => strategy != MIN_MASTERS",
            "leader_strategy: strategy == MIN_MASTERS and queues_count => strategy == RANDOM and queues_count",
            "leader_strategy: queues_count >= MANY_QUEUES => queues_count > MANY_QUEUES",
            'leader_strategy: """ return RANDOM if strategy => """ return CLIENT_LOCAL if strategy',
        ],
        SHOWN_ONLY: [
            'tolerated_failures: available.""" return members_count - majority(members_count) => available.""" pass',
            "tolerated_failures: members_count - majority(members_count) => members_count",
        ],
        SAME_SET: [
            "members: len(nodes) <= wanted: => len(nodes) < wanted:",
            "members: return [client] + [others[i] for i in range(wanted - 1)] => return [others[i] for i in range(wanted - 1)] + [client]",
            "members: for i in range(wanted - 1)] => for i in reversed(list(range(wanted - 1)))]",
        ],
        "any two numbers in this order say the same": [
            "others_by_load: running else 1, members_count[node], => running else 2, members_count[node],",
        ],
        "the declaring node is a member, runs and is not drained: a drained one takes no client": [
            "leader_candidates: len(undrained) > 0: return => len(undrained) >= 0: return",
            "leader_candidates: undrained return up if len(up) > 0 else inside => undrained pass",
            "leader_candidates: len(up) > 0 else inside => len(up) <= 0 else inside",
            "leader_candidates: len(up) > 0 else inside => len(up) >= 0 else inside",
            "leader_candidates: len(up) > 0 else inside => len(up) > 1 else inside",
        ],
    },
    "quorum_declaration": {
        SHOWN_ONLY: [
            'ignored_arguments: order.""" known = {*_settings(profile), …se [])} return [key => order.""" pass return [key',
            "ignored_arguments: known = {*_settings(profile), *([CONSUMER_TIMEOUT] => known = {*([CONSUMER_TIMEOUT]",
            "ignored_arguments: {*_settings(profile), *([CONSUMER_TIMEOU…ut else [])} return => {*_settings(profile)} return",
            "ignored_arguments: *([CONSUMER_TIMEOUT] if profile.queues_set_consumer_timeout => *([CONSUMER_TIMEOUT] if not profile.queu…et_consumer_timeout",
            "ignored_arguments: {*_settings(profile), *([CONSUMER_TIMEOU…et_consumer_timeout => {*_settings(profile), *([] if profile.qu…et_consumer_timeout",
            "ignored_arguments: else [])} return [key for key in argumen…'x-') not in known] => else [])} pass",
            "ignored_arguments: for key in arguments if key not => for key in reversed(list(arguments)) if key not",
            "ignored_arguments: arguments if key not in WITHOUT_POLICY a…'x-') not in known] => arguments]",
            "ignored_arguments: arguments if key not in WITHOUT_POLICY a….removeprefix('x-') => arguments if key.removeprefix('x-')",
            "ignored_arguments: WITHOUT_POLICY and key.removeprefix('x-') not in known] => WITHOUT_POLICY]",
            "ignored_arguments: arguments if key not in WITHOUT_POLICY a…'x-') not in known] => arguments if not (key not in WITHOUT_POL…x-') not in known)]",
            "ignored_arguments: arguments if key not in WITHOUT_POLICY => arguments if key in WITHOUT_POLICY",
            "ignored_arguments: key.removeprefix('x-') not in known] => key.removeprefix('x-') in known]",
            "_settings: Resolve]: return dict(QUORUM_PROFILES[pr….version].settings) => Resolve]: pass",
            "WITHOUT_POLICY: WITHOUT_POLICY = ('x-queue-type', 'x-sin…e-active-consumer', => WITHOUT_POLICY = ('x-single-active-consumer',",
            "WITHOUT_POLICY: ('x-queue-type', 'x-single-active-consum…nitial-group-size') => ('x-queue-type', 'x-quorum-initial-group-size')",
            "WITHOUT_POLICY: 'x-single-active-consumer', 'x-quorum-initial-group-size') => 'x-single-active-consumer')",
        ],
        SAME_SET: [
            "LOCATORS_3_10: name in LEADER_LOCATORS if name => name in reversed(list(LEADER_LOCATORS)) if name",
        ],
        "of two the smaller is the same in either order": [
            "_value: limit in given] return => limit in reversed(list(given))] return",
        ],
        "only streams leave it out, whose limits are not simulated": [
            "QuorumSettings: properties_bytes: int = 0 => properties_bytes: int = 1",
        ],
        "its type was looked at before all others": [
            "_CHECKS_3_10: 'x-dead-letter-exchange', 'x-dead-letter-routing-key')}, => 'x-dead-letter-routing-key')},",
        ],
    },
    "quorum_profiles": {
        UNASKED: [
            "QUORUM_PROFILES: asks_leader_first=False, compares_policies=False, => asks_leader_first=True, compares_policies=False,",
        ],
        UNSEEN_CUT: [
            "_PROFILE_3_10: least_cut=8192, snapshot_every=2048, => least_cut=8193, snapshot_every=2048,",
            "_PROFILE_3_10: snapshot_every=2048, snapshot_every_at_most=3200000) => snapshot_every=2049, snapshot_every_at_most=3200000)",
            "_PROFILE_3_10: snapshot_every_at_most=3200000) => snapshot_every_at_most=3200001)",
            "_PROFILE_4_0: snapshot_every=4096, snapshot_every_at_most=666667) => snapshot_every=4097, snapshot_every_at_most=666667)",
            "_PROFILE_4_0: snapshot_every_at_most=666667) => snapshot_every_at_most=666668)",
            "QUORUM_PROFILES: least_cut=4096, snapshot_every=64000, => least_cut=4097, snapshot_every=64000,",
            "QUORUM_PROFILES: snapshot_every=64000, snapshot_every_at_most=3200000), => snapshot_every=64001, snapshot_every_at_most=3200000),",
            "QUORUM_PROFILES: snapshot_every_at_most=3200000), '3.10': => snapshot_every_at_most=3200001), '3.10':",
        ],
    },
    "mirror_placement": {
        SAME_SET: [
            "exactly: len(kept) return [master] + kept + [shuffled[i] => len(kept) return kept + [master] + [shuffled[i]",
            "exactly: for i in range(min(count - 1, len(mirrors)))] missing => for i in reversed(list(range(min(count -…rrors)))))] missing",
        ],
        KEPT_FOR_NOW: [
            "listed_nodes: synchronised[0] for node in candidates: …return [new_master] => synchronised[0] pass return [new_master]",
            "listed_nodes: synchronised: new_master = node break return => synchronised: pass break return",
            "listed_nodes: candidates: if node in synchronised: new…return [new_master] => candidates: pass return [new_master]",
            "listed_nodes: node in candidates: if node => node in reversed(list(candidates)): if node",
            "listed_nodes: new_master = node break return [new_master] => new_master = node pass return [new_master]",
        ],
        "a mirror that is there already does not join again": [
            "listed_nodes: available] candidates = without_repeats(… if len(candidates) => available] pass if len(candidates)",
            "without_repeats: range(len(nodes)) if nodes[i] not in nodes[:i]] => range(len(nodes))]",
        ],
    },
    "streams": {
        UNSEEN_AGE: [
            "MS_OF_UNIT: MS_OF_UNIT = {'s': 1000, 'm': 60000, => MS_OF_UNIT = {'m': 60000,",
            "MS_OF_UNIT: {'s': 1000, 'm': 60000, 'h': 3600000, => {'s': 1000, 'h': 3600000,",
            "MS_OF_UNIT: 60000, 'h': 3600000, 'D': 86400000, => 60000, 'D': 86400000,",
            "MS_OF_UNIT: 3600000, 'D': 86400000, 'M': 2592000000, => 3600000, 'M': 2592000000,",
            "MS_OF_UNIT: 86400000, 'M': 2592000000, 'Y': 31536000000} => 86400000, 'Y': 31536000000}",
            "MS_OF_UNIT: 2592000000, 'Y': 31536000000} => 2592000000}",
            "MS_OF_UNIT: {'s': 1000, 'm': 60000, => {'s': 1001, 'm': 60000,",
            "MS_OF_UNIT: 'm': 60000, 'h': 3600000, => 'm': 60001, 'h': 3600000,",
            "MS_OF_UNIT: 'h': 3600000, 'D': 86400000, => 'h': 3600001, 'D': 86400000,",
            "MS_OF_UNIT: 'D': 86400000, 'M': 2592000000, => 'D': 86400001, 'M': 2592000000,",
            "MS_OF_UNIT: 2592000000, 'Y': 31536000000} => 2592000001, 'Y': 31536000000}",
            "MS_OF_UNIT: 31536000000} => 31536000001}",
            "MOST_DIGITS: MOST_DIGITS = 1000 => MOST_DIGITS = 1001",
            "inequivalent: | given if profile.version == '4.3': giv…t_difference(given, => | given pass return first_difference(given,",
            "inequivalent: profile.version == '4.3': => profile.version != '4.3':",
            "inequivalent: == '4.3': given, current = (_with_age_in…t_difference(given, => == '4.3': pass return first_difference(given,",
            "_with_age_in_ms: str) or len(age) > MOST_DIGITS or (not (…atch(age))): return => str) or not (found := MAX_AGE.fullmatch(age)): return",
            "_with_age_in_ms: MOST_DIGITS or (not (found := MAX_AGE.fu…atch(age))): return => MOST_DIGITS: return",
            "_with_age_in_ms: len(age) > MOST_DIGITS => len(age) <= MOST_DIGITS",
            "_with_age_in_ms: len(age) > MOST_DIGITS => len(age) >= MOST_DIGITS",
            "_with_age_in_ms: MOST_DIGITS or (not (found := MAX_AGE.fu…atch(age))): return => MOST_DIGITS or (found := MAX_AGE.fullmatch(age)): return",
            "_with_age_in_ms: arguments return {**arguments, 'x-max-ag…OF_UNIT[found[2]])} => arguments pass",
            "_with_age_in_ms: return {**arguments, 'x-max-age': => return {'x-max-age':",
            "_with_age_in_ms: {**arguments, 'x-max-age': str(int(found…OF_UNIT[found[2]])} => {**arguments}",
            "_with_age_in_ms: str(int(found[1]) * MS_OF_UNIT[found[2]])} => str(int(found[2]) * MS_OF_UNIT[found[2]])}",
            "_with_age_in_ms: MS_OF_UNIT[found[2]])} => MS_OF_UNIT[found[3]])}",
        ],
        SHOWN_ONLY: [
            "SIMULATED: SIMULATED = ('x-queue-type', 'x-initial-cluster-size', => SIMULATED = ('x-initial-cluster-size',",
            "SIMULATED: ('x-queue-type', 'x-initial-cluster-size…ue-leader-locator') => ('x-queue-type', 'x-queue-leader-locator')",
            "SIMULATED: 'x-initial-cluster-size', 'x-queue-leader-locator') => 'x-initial-cluster-size')",
            "ignored_arguments: for key in arguments if key not => for key in reversed(list(arguments)) if key not",
            "ignored_arguments: arguments if key not in (*_own(profile),…ilter-size-bytes')] => arguments]",
            "ignored_arguments: arguments if key not in (*_own(profile), => arguments if key in (*_own(profile),",
            "ignored_arguments: not in (*_own(profile), 'x-stream-filter-size-bytes')] => not in ('x-stream-filter-size-bytes',)]",
            "ignored_arguments: (*_own(profile), 'x-stream-filter-size-bytes')] => (*_own(profile),)]",
            "left_out: profile) return [key for key in argument…key not in ignored] => profile) pass",
            "left_out: for key in arguments if key not => for key in reversed(list(arguments)) if key not",
            "left_out: arguments if key not in SIMULATED and key not in ignored] => arguments]",
            "left_out: key not in SIMULATED and key not in ignored] => key not in ignored]",
            "left_out: SIMULATED and key not in ignored] => SIMULATED]",
            "left_out: arguments if key not in SIMULATED and key not in ignored] => arguments if not (key not in SIMULATED a…ey not in ignored)]",
            "left_out: arguments if key not in SIMULATED => arguments if key in SIMULATED",
            "left_out: and key not in ignored] => and key in ignored]",
        ],
        UNSEEN_CHECK: [
            "StreamProfile: checked: bool = True takes_dead_letters: => checked: bool = False takes_dead_letters:",
            "STREAM_PROFILES: checked=False, takes_dead_letters=False), => checked=True, takes_dead_letters=False),",
        ],
        ALWAYS_SAID: [
            "refusal: durable: bool=True, exclusive: => durable: bool=False, exclusive:",
            "refusal: exclusive: bool=False, auto_delete: => exclusive: bool=True, auto_delete:",
            "refusal: auto_delete: bool=False) -> str => auto_delete: bool=True) -> str",
        ],
        "any other that is accepted would do": [
            "_sizes: arguments.get('x-stream-max-segment-size…REAM_SEGMENT_BYTES: => arguments.get('x-stream-max-segment-size…REAM_SEGMENT_BYTES: (3)",
            "_sizes: arguments.get('x-stream-filter-size-byte… if profile.version => arguments.get('x-stream-filter-size-byte… if profile.version",
        ],
    },
}
"""By module and reason, as `mutator` describes them."""
