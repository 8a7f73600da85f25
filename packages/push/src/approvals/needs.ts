import { type Groups, type Identity, includes, membersWritten } from '@muster/platform/auth';

/** So many others have to agree: of these alone, or where nobody is named of those who may start any push job. */
export interface Need {
  readonly by: readonly string[];
  readonly grants: number;
  /** Who asks for it, in words: `policy prod`. */
  readonly why: string;
}

/** What has to be agreed to, and for how long it waits (seconds). */
export interface Needs {
  readonly needs: readonly Need[];
  readonly within?: number;
}

/** Somebody who has agreed, as they are now. */
export interface Granter {
  readonly identity: Identity;
  /** May they start any push job? Then they count where nobody is named. */
  readonly mayWrite: boolean;
}

/** Pure. How many more have to agree to the need that lacks most; 0: all are met. */
export function missing(needs: readonly Need[], granters: readonly Granter[], groups: Groups): number {
  const lacking = needs.map(({ by, grants }) => {
    const members = membersWritten(by);
    const counts = ({ identity, mayWrite }: Granter) =>
      by.length === 0 ? mayWrite : includes(members, identity, groups);
    const counted = granters.filter(counts);
    return grants - counted.length;
  });
  return Math.max(0, ...lacking);
}

/** Both; null: nobody has to agree. */
export function together(one: Needs | null, other: Needs | null): Needs | null {
  const both = [one, other].filter((each): each is Needs => each !== null && each.needs.length > 0);
  const [first, second] = both;
  if (first === undefined || second === undefined) return first ?? null;
  const within = both.flatMap(({ within: seconds }) => (seconds === undefined ? [] : [seconds]));
  return { needs: joined(first.needs, second.needs), ...(within.length > 0 && { within: Math.min(...within) }) };
}

/** Each once. */
export function joined(one: readonly Need[], other: readonly Need[]): readonly Need[] {
  const all = new Map([...one, ...other].map((need) => [JSON.stringify(need), need]));
  return [...all.values()];
}
