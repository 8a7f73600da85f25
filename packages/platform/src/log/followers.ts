/**
 * Who may follow which of Muster's own types: what tells of jobs, nodes and identities, who may read the same over REST; null:
 * whoever may follow what others publish. A type that is not listed is not recorded: nobody is told of it by omission.
 */
export const OWN_FOLLOWERS = [
  { types: 'node.*', permission: 'push:read' },
  { types: 'push.*', permission: 'push:read' },
  { types: 'auth.*', permission: 'org:admin' },
  { types: 'event.*', permission: null },
] as const;

const PREFIXES = OWN_FOLLOWERS.map(({ types }) => types.slice(0, -1));

export function assertFollowers(type: string): void {
  for (const prefix of PREFIXES) if (type.startsWith(prefix)) return;
  throw new Error(`nobody is said to follow events of type ${type}: list it in log/followers.ts`);
}
