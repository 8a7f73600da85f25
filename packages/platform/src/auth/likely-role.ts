import { canonicalGroup } from './names.js';

/** Letters that may be other, missing or too many until a name counts as one of its own; of a short one, fewer. */
const mostEdits = (role: string) => (role.length > 10 ? 2 : 1);

/**
 * The role that was probably meant by the name of a group that is none: a group of that name gives nobody anything, and nothing
 * would say so. Null when the name is a role's, or no role's by far.
 */
export function likelyRole(group: string, roles: readonly string[]): string | null {
  const name = canonicalGroup(group);
  if (roles.some((role) => role === name)) return null;
  const plain = letters(canonicalGroup(name.toLowerCase()));
  return roles.find((role) => edits(letters(role), plain) <= mostEdits(role)) ?? null;
}

/** Dashes, dots and none at all are as likely as underscores. */
function letters(name: string): string {
  return name.replaceAll(/[_.-]/g, '');
}

/** Levenshtein distance. */
function edits(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let at = 1; at <= left.length; at++) {
    const next = [at];
    for (let to = 1; to <= right.length; to++) {
      const same = left[at - 1] === right[to - 1] ? 0 : 1;
      next.push(Math.min((row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1, (row[to - 1] ?? 0) + same));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
