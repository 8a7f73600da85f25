import { type Finder, named } from '@muster/platform/finding';
import type { Inventory } from './inventory.js';

/** Nodes by a part of their name: they are all in memory. */
export function nodeFinder(inventory: Pick<Inventory, 'list'>): Finder {
  return {
    kind: 'node',
    permission: 'node:read',
    async find({ organization, text, most }) {
      const found = named(inventory.list(organization.id), text, { name: ({ name }) => name }).slice(0, most);
      return found.map(({ name }) => ({ id: name, name, more: null }));
    },
  };
}
