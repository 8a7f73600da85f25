import type { Session } from '../api/types.gen.js';

/** Whether somebody may do something, and if not, why. */
export type May = { readonly may: true } | { readonly may: false; readonly why: string };

/** What the session has told of what its user may do, and of who may do the rest. */
export type Told = Pick<Session, 'permissions' | 'missing'>;

/**
 * By the permissions that the session has told. An action that is not allowed is shown with the reason, and with who may; the
 * server decides about every request, whatever is shown.
 */
export function may({ permissions, missing }: Told, name: string): May {
  if (permissions.some(({ permission }) => permission === name)) return { may: true };
  const holders = missing.find(({ permission }) => permission === name)?.holders;
  const who = holders === undefined ? '' : `. Who has it: ${holders}`;
  return { may: false, why: `you need the permission ${name}${who}` };
}

/** What gives a permission, in words. */
export function reasonOf(by: Told['permissions'][number]['by']): string {
  if (by.length === 0) return 'by several groups together';
  return by.map(({ kind, name }) => (name === null ? WORDS[kind] : `${WORDS[kind]} ${name}`)).join(', ');
}

const WORDS: Readonly<Record<Told['permissions'][number]['by'][number]['kind'], string>> = {
  member: 'as every member',
  server_admin: 'as a server administrator',
  group: 'by the group',
  node_group: 'by a grant on the node group',
};
