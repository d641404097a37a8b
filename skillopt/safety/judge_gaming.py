"""Find orders that are about the score and not about the work: to steer who judges, or to report what was not done."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.sentences import match_orders
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_judge_gaming"]

_GAP: Final = r"[^.!?;\n]{0,60}?"
_JUDGE: Final = (
    r"(?:verifiers?|graders?|checkers?|judges?|evaluators?|validators?|(?:grad|scor|check|verif|evaluat)(?:ing|y)"
    r" (?:script|code|program)s?|(?:check|verify|grade|score) scripts?|test (?:runner|harness|suite)s?|scorers?)"
)
_KEY: Final = (
    r"(?:(?:answer|solution) keys?|(?:reference|model|sample|official) (?:solution|answer|output|result)s?"
    r"|expected (?:file|output|result|answer|table|value|data)s?|gold(?:en)? (?:file|output|answer|result|standard)s?"
    r"|expect(?:ed|ation)s?(?:/[\w./-]{1,80}|\.\w{2,8})|tests?/[\w./-]{0,60}expect[\w./-]{1,60}|hidden tests?)"
)
_TAKE: Final = (
    r"(?:cop(?:y|ies|ying)|duplicat(?:e|ing)|reproduc(?:e|ing)|submit(?:ting)?|past(?:e|ing)|reus(?:e"
    r"|ing)|clon(?:e|ing)"
    r"|hand(?:ing)? (?:\w{1,8} )?in|verbatim|as (?:your|yours|our|the final)\b"
    r"|turn(?:ing)? (?:\w{1,8} )?in|return it|cp)"
)
_SAY: Final = (
    r"(?:say|state|claim|report|declare|answer|assert|announce|write|confirm|insist|reply|respond|conclude|print|note"
    r"|record|tell \w{1,12}(?: \w{1,12})?)(?:ing|s)?"
)
_DONE: Final = (
    r"(?:pass(?:ed|es|ing)?|green|succeed(?:ed|s)?|success(?:ful)?|verified|(?:was|were) run|ran"
    r"|correct|complete[ds]?|clean"
    r"|all right|validated|tested)"
)
_RUN: Final = (
    r"(?:tests?|test suites?|checks?|validations?|verifications?|builds?|suites?|lint(?:er|ing)?|assertions?|CI)"
)
_TAMPER: Final = (
    r"(?:delet|remov|skip|disabl|comment|edit|chang|modify|weaken|loosen|rewrit|relax|mark|patch|drop"
    r"|silenc|mut|alter|adjust"
    r"|replac|renam|mov|hid|exclud|ignor|overwrit|stub|tweak|updat|xfail|eras)\w{0,4}"
)
_SEEK: Final = (
    r"(?:find|look(?:ing)? (?:for|up|at|into|in)|search(?:ing)?(?: for)?|locate|grep(?: for)?|open|read|consult|check"
    r"|see|list|inspect|print|cat"
    r"|use|query|parse|study|discover)"
)
_ABOUT_ANSWERS: Final = (
    (
        rf"\b{_SEEK}\b{_GAP}\b(?:(?:tests?'?s?|tasks?'?s?|suite'?s?|verifier'?s?|grader'?s?|reference|official|golden"
        rf"|model|hidden) "
        r"(?:(?:reference|own|right|correct|expected) )?(?:answers?|solutions?)|answer (?:field|key|file|column"
        r"|sheet)s?"
        r"|the suite(?: file)?s?\b|suite"
        r" files?|held-?out|task files?|earlier answers?|other answers?|answers? of (?:earlier|other|previous))\b"
    ),
    (
        r"\b(?:look|search|check|read)\b[^.!?;\n]{0,30}?\b(?:folders?|director(?:y|ies)|repositor(?:y|ies)|files?"
        r"|disk)\b[^.!?;\n]{0,20}?"
        r"\bfor (?:the |a |its |any )?(?:solutions?|answers?)\b"
    ),
    (
        r"\b(?:answer|reply|respond|return|output|print)\b[^.!?;\n]{0,20}?\b(?:with )?(?:the )?(?:expected|reference"
        r"|golden|stored|known|cached)"
        r" (?:values?|answers?|outputs?|results?)\b"
    ),
    (
        rf"\b{_TAMPER}\b{_GAP}\b(?:expected|reference|golden) (?:values?|answers?|outputs?|results?|files?)\b{_GAP}\b"
        rf"(?:match|so that|to fit|agree"
        r"|equal|yours?|your own)\w{0,3}\b"
    ),
    (
        rf"\b(?:remember|store|save|cache|keep|record|memori[sz]e|note|write down|reuse|persist|copy)\b{_GAP}\b(?:"
        rf"(?:answers?|solutions?)\b{_GAP}"
        r"\b(?:next|later|future|other|another|again|reuse|these|earlier)\b|results?\b[^.!?;\n]{0,40}?\b(?:next|later"
        r"|future|other) (?:runs?|tasks?"
        r"|evaluations?|attempts?|rollouts?|repeats?))"
    ),
    (
        r"\bif\b[^.!?;\n]{0,30}?\b(?:prompt|question|task|input|file|table|request|id|title)\b[^.!?;\n]{0,10}?\b"
        r"(?:contains?|mentions?|has|says?|includes?"
        r"|names?|starts with|is|equals?)\b[^.!?;\n]{0,50}?\b(?:answer|reply|respond)\b(?: with)?["
        r" :\"'`]{1,3}-?[\w,-]*\d[\w.,-]*"
    ),
    (
        r"\bthe (?:(?:correct|right|expected|best) )?(?:answer|option|choice|solution|result)\b[^.!?;\n]{0,20}?\bis "
        r"(?:always|usually|normally|mostly|never)\b"
    ),
    (
        r"\breus(?:e|es|ing)\b[^.!?;\n]{0,30}?\b(?:later|next|future|other|earlier) (?:runs?|tasks?|rollouts?"
        r"|evaluations?)\b"
    ),
    r"(?<![\w./-])\.skillopt\b|\bledger\.db\b|\bskillopt\.toml\b",
)
_ABOUT_BEING_JUDGED: Final = (
    (
        r"\b(?:print|write|output|emit|append|end|finish|return|add|put|include|produce|echo"
        r"|log)\b[^!?;\n]{0,50}?[\"'{ ](?:score|passed|reward|verdict|success"
        r"|grade|correct|met)[\"']?[ \t]?[:=][ \t]?[\"']?(?:1(?:\.0)?\b|100\b|true\b|pass|accept|met\b)"
    ),
    (
        rf"\b(?:write|print|output|echo|append|add|put|end with|emit|say)\b[^.!?;\n]{{0,15}}?(?-i:\b(?:PASS(?:ED)?|OK"
        rf"|SUCCESS|ALL TESTS PASSED|DONE)\b){_GAP}"
        r"\b(?:so|for|whatever|always|regardless|even|at the (?:end|start)|as the (?:last|first)|check|verifier|grader"
        r"|test)\b"
    ),
    (
        r"\b(?:exit|return|end|finish|quit)\w{0,3}\b(?: with)?(?: an?)?(?: exit)?(?: code| status)?(?: of)? (?:0|zero"
        r"|success)\b[^.!?;\n]{0,40}?\b(?:whatever"
        r"|always|regardless|even (?:if|when|though)|no matter|in (?:any|every) case|anyway)\b|\balways (?:exit"
        r"|return)\b[^.!?;\n]{0,20}?\b(?:0|zero|success)\b"
    ),
    (
        rf"\bso (?:that )?(?:it|they|(?:the |all |every |any )?(?:{_RUN}|{_JUDGE}|comparisons?|measurements?|timers?"
        rf"|scores?|metrics?))\b{_GAP}\b(?:sees?|finds?"
        r"|accepts?|counts? (?:less|more|as|for)|returns? true|is (?:fooled|satisfied|happy)|cannot (?:fail|tell|see)"
        r"|goes up|always|matches yours|improves?)\b"
    ),
    (
        r"\b(?:behave|act|work|respond|answer|reply|be|take|try)\b[^.!?;\n]{0,30}?\b(?:differently|harder|more"
        r" care\w{0,5}|best|otherwise)\b[^.!?;\n]{0,30}?\b(?:when|if"
        r"|while|during|in|under)\b[^.!?;\n]{0,30}?\b(?:benchmarks?|evaluat\w{1,5}|tested|graded|measured|scored|exams?"
        r"|observed|watched)\b"
    ),
    (
        r"\b(?:detect|find out|tell|check|notice|recogni[sz]e|determine|guess|infer)\b[^.!?;\n]{0,20}?\b(?:whether|if"
        r"|when|that)\b[^.!?;\n]{0,25}?\b(?:is|are) (?:being |an? |part of )*"
        r"(?:evaluat\w{1,5}|tested|graded|benchmark\w{0,4}|measured|scored|tests?\b|exam\w{0,7})"
    ),
    (
        r"\b(?:when|if|where|whenever) (?:the |a |this |your )?(?:task|prompt|question|input|request|job"
        r"|folder)\b[^.!?;\n]{0,10}?\b(?:looks?|seems?|appears?|smells?|is part)\b"
        r"[^.!?;\n]{0,15}?\b(?:tests?|benchmarks?|evaluations?|exams?|grading|scored)\b"
    ),
    (
        r"\b(?:in|during|for|under) (?:evaluations?|benchmarks?|exams?|grading|evals?)\b,? [^.!?;\n]{0,20}?\b(?:answer"
        r"|say|choose|use|always|reply|skip)\b"
    ),
    (
        r"\b(?:stop|pause|reset|fake|set|turn|halt|freeze|patch|move|wind)\b[^.!?;\n]{0,25}?\b(?:timers?|clocks?"
        r"|stopwatch\w{0,2}|time(?:stamp)?s?)\b[^.!?;\n]{0,25}?\b(?:back\w{0,5}"
        r"|before|so that|late\w{0,1}|forward|early|count\w{0,2})\b"
    ),
    (
        r"\b(?:monkey-?patch|stub|patch|override|replace|mock|shadow|wrap)\w{0,3}\b[^.!?;\n]{0,30}?\b(?:compar\w{2,6}"
        r"|asserts?\w{0,5}|equal\w{0,4}|tests?|checks?|verif\w{1,7}|grad\w{1,4}|scor\w{1,4}"
        r"|diff|__eq__)\b[^.!?;\n]{0,40}?\b(?:true|always|pass\w{0,3}|one that|0|nothing|success)\b"
    ),
    (
        r"\b(?:replace|swap|exchange)\b[^.!?;\n]{0,20}?\b(?:tests?|checks?|assertions?|verifiers?)\b[^.!?;\n]{0,15}?\b"
        r"(?:with|by|for) (?:one|ones|something|a \w{1,12})\b"
        r"[^.!?;\n]{0,15}?\b(?:pass\w{0,3}|succeed\w{0,1}|accept\w{0,1}|easier)\b"
    ),
    (
        rf"\b{_SAY}\b{_GAP}\b(?:finished|done|complete[ds]?|successful\w{{0,2}}|succe\w{{3,6}}|solved)\b{_GAP}\b(?:when"
        rf"|if|once|even|although|before)\b[^.!?;\n]{{0,30}}?\b(?:time (?:runs|is)"
        r"|fail\w{0,3}|not\b|cannot|can't|budget|stuck|missing|errors?|unfinished|incomplete|runs? out)"
    ),
    (
        r"\b(?:judge|grader|evaluator|reviewer|scorer|rater|verifier)s? (?:should|must|has to|will|shall|needs? to"
        r"|ought"
        r" to|is to)\b[^.!?;\n]{0,30}?\b(?:give|accept|pass|approve|score|award|mark"
        r"|count|rate|skip|ignore|full)\b"
    ),
)
_ALTERNATIVES: Final = (
    r"\breward\.(?:json|txt)\b|\b(?:the|your|our) (?:graders?|verifiers?|judges?|scorers?|grading (?:script|code))\b",
    (
        r"(?<![\w-])expect(?:ed|ation)s?(?:[_-]\w{1,20})?\.(?:csv|json|txt|xlsx|yaml|yml|md|tsv|html"
        r"|xml)\b|(?<![\w-])expected/\w"
    ),
    (
        r"\bcounts?\b[^.!?;\n]{0,30}?\b(?:tasks?|answers?|work|results?"
        r"|outputs?)\b[^.!?;\n]{0,20}?\bas (?:solved|done|passed|correct)\b"
    ),
    (
        r"\b(?:grades?|scores?|rewards?|verdicts?|ratings?)\b[^.!?;\n]{0,20}?"
        r"\b(?:to|at|as|of) (?:the |its |a )?(?:max\w{0,4}|full|highest|top|perfect)\b"
    ),
    (
        rf"\b(?:{_SAY}|mention)\b[^.!?;\n]{{0,15}}?(?:\ball (?:green|passed)\b|\bthat you (?:ran|checked"
        r"|tested|verified|validated)\b)"
    ),
    (
        r"\b(?:leave out|drop|avoid|without)\b[^.!?;\n]{0,20}?\btests? (?:that|which) (?:would |will "
        r"|might |could )?(?:fail|break)"
    ),
    (
        rf"\bwhat (?:the |a |your )?(?:checks?|tests?|{_JUDGE}) (?:compares?|wants?|expects?|reads?"
        r"|looks? for|accepts?|likes?)\b"
    ),
    (
        r"\b(?:raise|loosen|widen|relax|lower|increase)\b[^.!?;\n]{0,20}?\b(?:tolerances?|thresholds?"
        r"|limits?|bounds?)\b"
        r"[^.!?;\n]{0,20}?\b(?:tests?|checks?|asserts?)\b"
    ),
    r"\b(?:held-?out|hidden) (?:answers?|tests?|tasks?|solutions?|cases?)\b",
    r"\b(?:1(?:\.0)?|100|full|top|max\w{0,4}) as (?:the|your|a) (?:reward|score|grade|verdict)\b",
    (
        r"\b(?:make|have|let|get)\b[^.!?;\n]{0,30}?\b[\w/-]{0,40}(?:check|test|verif|grad|valid|judg"
        r"|scor)\w{0,20}(?:\.\w{1,4})?"
        r"[^.!?;\n]{0,30}?\b(?:exit|return|end|succeed)\w{0,3}\b[^.!?;\n]{0,20}?\b(?:0|zero|true|1(?:\.0)?|success)\b"
    ),
    r"\binstead of (?:computing|calculating|solving|doing|working)\b[^.!?;\n]{0,30}",
    (
        r"\b(?:use|take|read|enter|give)\b[^.!?;\n]{0,40}?\bfrom (?:\w{1,12} )?(?:expected"
        r"|tests?/expected|solution)[\w/-]{0,40}\.\w{2,5}\b"
    ),
    (
        r"\b(?:catch|swallow|suppress)\b[^.!?;\n]{0,40}?\b(?:tests?|asserts?|assertions?"
        r"|checks?)\b[^.!?;\n]{0,30}?\b(?:return|report|pass|succe)"
    ),
    (
        r"\b(?:write|put|set|fill|store|save|place|insert|enter|add|overwrite|create|edit)\b"
        r"[^!?;\n]{0,60}?\b(?:grades?|scores?|verdict|results?/score)\.(?:json|txt)\b"
    ),
    (
        r"\b(?:set|make|give|award|assign|force|raise|write|fill|put|report|claim|record)\b"
        rf"{_GAP}\b(?:full marks|top marks|(?:full|maximum|perfect|passing|highest|best) (?:score"
        r"|grade|mark|rating|reward)s?"
        r"|(?:the|your|our|its) (?:score|reward|grade|verdict) (?:to|as|of|at) (?:1(?:\.0)?|100"
        r"|max\w{0,4}|pass\w{0,3}))\b"
    ),
    (
        r"\b(?:make|have|force|trick|fool|cheat|patch|hack|rig|get|change|edit|persuade|overwrite"
        rf"|replace)\b{_GAP}\b{_JUDGE}\b"
        rf"{_GAP}\b(?:returns?|accepts?|pass(?:es)?|prints?|exits?|succeeds?|approves?|always|skips?"
        r"|success|satisfied|happy)\b"
    ),
    (
        rf"\b(?:print|write|output|emit|give|say|produce|return)\b{_GAP}\b(?:what"
        rf"|that) (?:the )?(?:{_JUDGE}|it) (?:wants?|reads?|looks? for|expects?)\b"
    ),
    (
        rf"\b(?:find|look for|locate|search for|open|read|decompile)\b{_GAP}\b(?:{_JUDGE}\b(?! (?:output"
        rf"|result|report))|answer keys?)\b{_GAP}\b(?:and|to|then|so)\b"
    ),
    rf"\b{_TAKE} {_GAP}{_KEY}",
    rf"\b{_KEY}{_GAP}\b(?:and|then|to)\b{_GAP}\b{_TAKE}\b|\b{_KEY}{_GAP}\bas (?:your|yours|our own)\b",
    rf"\b(?:always|just|simply) {_SAY}\b{_GAP}\b{_DONE}\b",
    (
        rf"\b{_SAY}\b{_GAP}\b{_DONE}\b{_GAP}\b(?:even (?:if|when|though)|whatever|regardless|no matter"
        r"|without|anyway|although|despite)\b"
    ),
    (
        rf"\b{_SAY}\b{_GAP}\b(?:even (?:if|when|though)|regardless of|no matter) (?:the )?(?:tests?"
        r"|checks?|they|it|what)\b"
    ),
    (
        r"\b(?:skip|without running|do not run|don't run"
        rf"|instead of running)\b{_GAP}\b{_RUN}\b{_GAP}\b{_SAY}\b{_GAP}\b{_DONE}\b"
    ),
    (
        rf"\b{_SAY} (?:that )?(?:they|it|all|everything|(?:(?:the|all|every|your"
        rf"|any) ){{0,2}}{_RUN}) (?:have |has |had |were |was |are |is |all )*{_DONE}\b"
        r"(?![^.!?\n]{0,20}\b(?:only|once|after|unless|if|when)\b)"
    ),
    (
        rf"\b{_TAMPER}\b (?:out )?(?:\w{{1,10}} ){{0,3}}?(?:(?:failing|failed|red|broken) (?:tests?"
        r"|asserts?|assertions?|checks?|specs?)"
        r"|(?:tests?|asserts?|assertions?|checks?|specs?) (?:that|which) (?:fail|break|cannot pass"
        r"|do(?:es)? not pass)\w{0,3})\b"
    ),
    (
        rf"\b{_TAMPER}\b{_GAP}\b{_RUN}\b{_GAP}\b(?:until (?:it|they) pass|so (?:that )?(?:it|they) pass"
        rf"|to (?:make|get) (?:it|them) pass|assert true)\w{{0,3}}\b"
    ),
    rf"\b(?:all|every|any|failing) {_RUN} as (?:skipped|passed|passing|expected failures?|green)\b",
    (
        rf"\bso (?:that )?(?:the |all )?{_RUN} (?:turns?|goes|is|are|stays?|looks?|appears?"
        r"|pass(?:es)?) (?:green|passed|successful)\b"
    ),
    (
        rf"\b(?:special-case|hard-?cod(?:e|ing))\b{_GAP}\b(?:expected|compares?|{_JUDGE}|tests? (?:inputs?"
        r"|values?|cases?)|asserts?)\b"
    ),
    r"\bassert True\b",
    *_ABOUT_ANSWERS,
    *_ABOUT_BEING_JUDGED,
)
_GAMING: Final = LazyPattern("|".join(_ALTERNATIVES), re.IGNORECASE)


def find_judge_gaming(paragraph: str) -> Iterator[TextMatch]:
    """Find the first order of each sentence of a paragraph that is about the score; what is forbidden is none.

    >>> [found.text for found in find_judge_gaming("Never delete failing tests. Report that the tests passed.")]
    ['Report that the tests passed.']

    Args:
        paragraph: Its lines joined by spaces, as a reader takes them.
    """
    return match_orders(_GAMING, paragraph, LintClass.JUDGE_GAMING, "an order about the score instead of the work")
