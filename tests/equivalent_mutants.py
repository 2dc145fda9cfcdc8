"""Mutants of the rules that no scenario catches, each with the reason; `test_mutants` looks at all others.

A mutant is named by its place, and by a part of its description where the place has others. Those that would change
something that scenarios do not have (`UNSEEN`) are told from those that decide exactly as the rule does.
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
            "ESCAPES: ue)) => ', '\"\\\\nrtvb",
        ],
        ALWAYS_SAID: [
            "erlang_term:  str => : object, un",
            "erlang_term:  (wh => bool=False, ",
        ],
        UNSEEN_TYPE: [
            "_flat: _}') => lement in va",
        ],
    },
    "locators": {
        "the node that declares runs, so there is a candidate, and a single one is that node": [
            "locate: trat => strategy == ",
            "locate: trat => L or len(can",
        ],
    },
    "patterns": {
        UNSEEN_LIMIT: [
            "STEPS: 0000 => STEPS = 1000",
            "MEMORY_KIB: 5536 => MEMORY_KIB =",
            "FULL_STEPS_GROUPS: = 16 => FULL_STEPS_G",
            "PATTERN_LIMIT_BYTES: 5535 => TTERN_LIMIT_",
            "_compiled: sub( => ource = _byt",
            "_compiled: : ra => attern) if l",
            "_compiled: sub( =>  > PATTERN_L",
            "_limits: CH=% => EPS * FULL_S",
        ],
        "the place that PCRE2 gives is not that of Erlang in any case": [
            "PCRE_ERRORS: valu => n is not fix",
        ],
        "it is as fast, and counts steps otherwise; what the tests hold is not far from the limit": [
            "_compiled: ernE => limits + rew",
        ],
    },
    "policies": {
        ALWAYS_SAID: [
            "Policy: eues => ], ...] prio",
            "Policy: ues' =>  object], pr",
            'matching: """T => rofile, decl',
            'effective:  """ => rofile, decl',
            "Mirroring: ..]  => de: HaMode c",
            "Mirroring: t |  => de: SyncMode",
            "Mirroring:  Pro => down: Promot",
            "Mirroring: WAYS => lure: Promot",
        ],
        SAME_SET: [
            "Policy:  pat => ition[key]))",
            "Policy: patt => ition[key]))",
            "matching: vhos => = [policy fo",
            "matching: y.pa => oint((key fo",
            "effective_definition: GES. => mine) for ke",
            "effective_definition: ed)} =>  merged[key]",
            "_wider_params: n, i => s = [given f",
        ],
        "lists come as lists, and what matters is what is in them": [
            "_frozen: alue => f isinstance",
            "_frozen: alue => e) if isinst",
        ],
        "no quorum queue can be declared here, and 3.8 passes no policy over for classic ones": [
            'matching: set( => . """ blind ',
            'matching: nset => " blind = de',
        ],
        "only the lab asks for the one policy; the engine asks for all that match": [
            "effective: one) => eue; see `ma",
        ],
        UNSEEN_QUORUM: [
            "_stricter_delivery_limit: lue) => en the other",
            "_stricter_delivery_limit: oper => (value, oper",
            "_stricter_delivery_limit: oper => value, opera",
            '_stricter_delivery_limit: ue)  => nts.""" retu',
            "_stricter_delivery_limit: erat => alue, operat",
            '_stricter_delivery_limit: tor_ => her counts."',
            "_stricter_delivery_limit: lue) => erator_value",
            "MERGES: in,  => 'max-length'",
            "MERGES: ry-l => s': min, 'ma",
            "MERGES: rict => n-memory-len",
            "MERGES: max, => in-memory-by",
            "MERGES: e, ' => ricter_deliv",
            "MERGES: gth' => n, 'max-leng",
            "MERGES: es': => max-in-memor",
            "MERGES: _str => 'max-in-memo",
            "MERGES: mode => , 'target-gr",
        ],
        "the three modes happen to be in alphabetical order": [
            "_wider_mode: dex) => in(value, op",
        ],
        "a count is read under exactly alone": [
            "mirroring: ) if =>  is HaMode.E",
        ],
    },
    "policy_validation": {
        ALWAYS_SAID: [
            'refusal: "Why => Profile, ope',
            "refusal: (pri =>  fields.get(",
            '_definition_error: "The => Profile, ope',
        ],
        UNSEEN_TYPE: [
            "refusal: on_e => elds.get('pr",
            "refusal: on_e =>  _is_integer",
            "_pattern_error: or(p => t, show) -> ",
            "_pattern_error: or(p => instance(pat",
        ],
        SAME_SET: [
            "_definition_error: ecks => inition[key]",
        ],
        "it was looked at before, and accepted": [
            "COMMON_SETTINGS: e'}) => FEDERATION_S",
        ],
    },
    "profiles": {
        UNSEEN_QUORUM: [
            "Profile: ring => ands_soft_li",
            "PROFILES: ze=3 => M)), declare",
            "PROFILES: ze=N => ),), declare",
            "PROFILES: ze=3 => M)), declare",
            "PROFILES: ze=3 => M)), declare",
            "PROFILES: ze=3 => M)), declare",
        ],
        "only the lab asks": [
            "Profile: (sel => ues can be m",
            'Profile: ngs  => ed.""" retur',
        ],
        "no queue has such a policy setting, only arguments": [
            "_NOT_IN_QUORUM: tive => _IN_QUORUM =",
            "_NOT_IN_QUORUM: -syn => max-priority",
        ],
        IMPLIED: [
            "_NOT_IN_QUORUM: ha-p => ngle-active-",
            "_NOT_IN_QUORUM: -on- => ive-consumer",
            "_NOT_IN_QUORUM: ha-p => er ha-mode h",
            "_NOT_IN_QUORUM: -loc => sync-mode ha",
            "_NOT_IN_QUORUM:  max =>  ha-promote-",
        ],
        TOLD_ONLY: [
            "PROFILES: O, a => sion='3.10',",
            "PROFILES:  app => 3': Profile(",
            "PROFILES: O_3_ => ion='3.13', ",
            "PROFILES: O_3_ => version='4.0",
        ],
        "4.0 has no mirrors: nothing synchronises, moves or is rebalanced": [
            "PROFILES: drai => ue, drain_mo",
            "PROFILES: rs=F =>  limits_sync",
            "PROFILES: drai => ue, drain_mo",
            "PROFILES: ue)} => ebalance_spa",
        ],
    },
    "promotion": {
        "mirrors join one by one": [
            "recoverable_mirrors: vera => ept + [node ",
        ],
        "a node that is forgotten is no member any more": [
            "offline_heir:  NOB => in recoverab",
        ],
    },
    "rebalancing": {
        BY_COUNT: [
            'destination: tes: => es.""" chose',
            "destination: tes: => osen = NOTHI",
            "destination: rs:  =>  in candidat",
            "destination:  cou => count = 0 fo",
            "destination: G or => aster == nod",
        ],
    },
    "selection": {
        SAME_SET: [
            "exactly:  - 1 => = [mirrors[i",
            "exactly: i in =>  - 1 - len(k",
        ],
        "the available nodes come in alphabetical order": [
            "listed_nodes: [nod => sed) == 0: c",
            "listed_nodes: r no => orted([node ",
        ],
        "a mirror that is there already does not join again": [
            "listed_nodes: == 0 => d if node in",
            "without_repeats: :i]] => r i in range",
        ],
        KEPT_FOR_NOW: [
            "listed_nodes: nise => hronised[0] ",
            "listed_nodes: de f =>  heir = sync",
            "listed_nodes: de f => for node in ",
            "listed_nodes:  + [ => f node in sy",
            "listed_nodes: de f => nchronised: ",
        ],
    },
}
"""By module and reason: the place of each, and a part of its description that no other there has."""
