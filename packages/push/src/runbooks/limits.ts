/** Limits of saved commands. */
export const RUNBOOK_LIMITS = {
  /** Of one organization. */
  runbooks: 1000,
  /** Versions kept of each; of more the oldest go. */
  versions: 100,
  /** Characters of a name. */
  name: 80,
  description: 2000,
  /** Bytes of a definition as JSON. */
  definition: 262_144,
  parameters: 50,
  /** Characters of the name of a parameter. */
  parameterName: 40,
  /** Of a parameter that is a choice. */
  choices: 200,
  /** Characters of a value that becomes an argument. */
  text: 4096,
  /** Bytes of a value that becomes part of the file. */
  fileText: 100_000,
  runners: 200,
} as const;
