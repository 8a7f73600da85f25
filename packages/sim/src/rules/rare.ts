/** What a hundred runs must come to: the moments at which a crash could lose a start, or make a second one. */
export const RARE_IN_RULES: readonly string[] = [
  'asked once',
  'asked at each event',
  'denied',
  'the runbook is another one than others agreed to',
  'an event before others agreed to the rule',
  ...['before', 'after'].flatMap((when) =>
    [
      'the rule is asked for or made',
      'others agree to the rule',
      'others decide on a run',
      'an event is published',
      'the work of an event is stored',
    ].map((what) => `killed ${when} it is stored: ${what}`),
  ),
];
