/** Every limit of a selector, by name. */
export const LIMITS = {
  /** Characters of the whole text: 16 KiB. */
  textLength: 16_384,
  /** Parentheses, NOT and signs inside each other. */
  nesting: 64,
  /** Literals in one IN list. */
  inList: 1000,
  /** Arithmetic operators in the whole text; each makes the tree one deeper. */
  arithmeticOperators: 1000,
  /** Characters of one LIKE pattern or wildcard word; the work per match is bounded by it (see pattern.ts). */
  patternLength: 1024,
} as const;
