import type { JobNode } from '../api/types.js';

/** Names that have this in them, those first that begin with it; so many at most. Pure. */
export function namesWith(nodes: readonly JobNode[], text: string, most: number): readonly string[] {
  const word = text.toLowerCase();
  const begin: string[] = [];
  const others: string[] = [];
  for (const { node_name: name } of nodes) {
    const at = name.toLowerCase().indexOf(word);
    if (at === 0) begin.push(name);
    else if (at > 0 && others.length < most) others.push(name);
    if (begin.length === most) break;
  }
  return [...begin, ...others].slice(0, most);
}
