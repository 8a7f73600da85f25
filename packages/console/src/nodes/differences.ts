import { attributesOf, type FleetNode } from '../live/fleet.js';

/** What nodes have of one attribute, in the order of the nodes; null: one has it not. */
export interface Difference {
  readonly name: string;
  readonly values: readonly (string | null)[];
}

export interface Differences {
  readonly differences: readonly Difference[];
  /** Names of what all have alike. */
  readonly same: readonly string[];
}

/** Labels, facts, protocol, whether there is an agent, and commands of nodes side by side. Pure. */
export function differencesOf(nodes: readonly FleetNode[]): Differences {
  const all = nodes.map((node) => {
    const { name: _name, status: _status, availability: _availability, command, ...told } = attributesOf(node);
    return { ...told, ...(Array.isArray(command) && { command: [...command].sort().join(', ') }) };
  });
  const names = [...new Set(all.flatMap((each) => Object.keys(each)))].sort();
  const rows = names.map((name) => ({
    name,
    values: all.map((each) => {
      const entry = Object.entries(each).find(([known]) => known === name);
      return entry === undefined ? null : String(entry[1]);
    }),
  }));
  const differs = ({ values }: Difference): boolean => new Set(values).size > 1;
  return { differences: rows.filter(differs), same: rows.filter((row) => !differs(row)).map(({ name }) => name) };
}
