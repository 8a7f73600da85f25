import type { Output } from '../output.js';

/** Names that nobody has, as the server tells them of a group or a grant that was stored. */
export interface Unknown {
  readonly unknown: {
    readonly users: readonly string[];
    readonly clients: readonly string[];
    readonly groups: readonly string[];
  };
}

/** They count once somebody has them, and may have been misspelt. */
export function warnOfUnknown(out: Pick<Output, 'note'>, { unknown }: Unknown): void {
  const kinds = [
    ['user', unknown.users],
    ['node or service', unknown.clients],
    ['group', unknown.groups],
  ] as const;
  for (const [kind, names] of kinds) {
    for (const name of names) out.note(`warning: there is no ${kind} '${name}' in this organization yet`);
  }
}
