/** Every bound of providers of secrets. */
export const PROVIDER_LIMITS = {
  providers: 100,
  organizations: 1000,
  /** Characters of a setting. */
  text: 1024,
  /** Characters of a reference. */
  reference: 500,
  /** For one value, unless its provider says otherwise. */
  seconds: 10,
  mostSeconds: 60,
  /** What a Vault may answer. */
  answerBytes: 1_048_576,
  /** Of a provider, at the same time; the others wait their turn. */
  atOnce: 4,
  waiting: 1000,
  /** A value is fetched once for all nodes that ask for it within this time, which is all the time that it is held in memory. */
  heldMs: 5000,
  /** Characters of a reason that a Vault gives. */
  reason: 300,
} as const;

/**
 * Words of letters, digits and `_ . @ : + -`, separated by `/`, and after `#` a field. None begins with a dot or a dash: it is neither a
 * way out of a path nor a flag.
 */
const REFERENCE =
  /^[A-Za-z0-9_@][A-Za-z0-9_.@:+-]*(?:\/[A-Za-z0-9_@][A-Za-z0-9_.@:+-]*)*(?:#[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/;

export const REFERENCE_IN_WORDS =
  'words of letters, digits and _ . @ : + - with / between them, and may have # and a field of letters, digits and _ . - at its end; each begins with a letter, a digit, _ or @, a field not with @';

export function isReference(text: string): boolean {
  return REFERENCE.test(text);
}
