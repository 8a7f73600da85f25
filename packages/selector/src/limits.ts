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

  /** Clauses of an OR that the index tells apart; more are one clause, with what they have in common. */
  indexClauses: 16,
  /** Attributes of one clause that the index looks at. */
  indexPins: 32,
  /** Places in the index for one clause: the values of its IN lists, multiplied. Its other attributes are evaluated. */
  indexPlaces: 1024,
  /** Entries in one place of the index before they are told apart by another attribute. */
  indexList: 16,
  /** Attributes told apart one after another; what is left is evaluated. */
  indexDepth: 8,
} as const;
