/** What a sign-in gives, wherever it is. */
export interface SignInRules {
  /**
   * Group of the organization by what the issuer calls it. Whoever signs in becomes a member of those groups that it gives, and is one
   * of the others among them no more. Other groups are left alone.
   */
  readonly groups: Readonly<Record<string, string>>;
  /** Whoever the issuer lets in becomes a user and a member, if nobody is called so yet. */
  readonly createUsers: boolean;
  /** Seconds that a sign-in lasts. */
  readonly ttlSeconds: number;
}

/** Groups here that these of the issuer mean. */
export function groupsGiven(
  { groups }: Pick<SignInRules, 'groups'>,
  values: Iterable<string>,
  /** How what the issuer calls them is compared; null: it is no name there. */
  canonical: (value: string) => string | null = (value) => value,
): ReadonlySet<string> {
  const held = new Set<string | null>();
  for (const value of values) held.add(canonical(value));
  held.delete(null);
  return new Set(Object.entries(groups).flatMap(([value, group]) => (held.has(canonical(value)) ? [group] : [])));
}
