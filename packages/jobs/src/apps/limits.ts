/** Limits of apps. */
export const APP_LIMITS = {
  perOrganization: 10_000,
  /** Of inputs, and of parameters. */
  arguments: 200,
  /** Values of one input or parameter, and places in a form. */
  cardinality: 10_000,
  /** Values to choose from. */
  choices: 1000,
  /** Tags, terms of ontologies, modules. */
  words: 100,
  /** Characters of a line of text. */
  text: 1024,
  /** Characters of a value, of a path, of a longer description. */
  value: 16_384,
  /** Program and arguments of a command. */
  commandArguments: 500,
  /** Characters of an inline wrapper template. */
  template: 262_144,
  /** Characters of inputs, and of parameters, of one job, as JSON (sheet §1.1). */
  values: 16_384,
} as const;
