import { type Finder, firstSeen, named } from '@muster/platform/finding';
import type { RuleLayer } from './layer.js';
import './rights.js';

/** Rules by a part of their name: one's own, and those whose work one may look at. */
export function ruleFinder({ rules, starting }: Pick<RuleLayer, 'rules' | 'starting'>): Finder {
  return {
    kind: 'rule',
    permission: 'rule:use',
    async find({ caller, organization, text, most }) {
      const all = named(await rules.list(organization), text, { name: ({ name }) => name });
      const seen = await firstSeen(all, most, async ({ owner, work }) => {
        return caller.principalId === owner.principalId || starting.mayRead(caller, organization, work);
      });
      return seen.map(({ name }) => ({ id: name, name, more: null }));
    },
  };
}
