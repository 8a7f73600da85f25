import type { Organization } from '@muster/platform/auth';
import type { KnownNode } from './known-node.js';

interface Members {
  readonly org: Organization;
  readonly byName: Map<string, KnownNode>;
  /** By name; null when a node was added or removed since it was made. */
  sorted: readonly KnownNode[] | null;
}

/** All known nodes of all organizations, found by organization id (inside) or by organization name (on the wire). */
export class Roster {
  readonly #byOrgId = new Map<string, Members>();
  readonly #byOrgName = new Map<string, Members>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(orgId: string, name: string): KnownNode | undefined {
    return this.#byOrgId.get(orgId)?.byName.get(name);
  }

  list(orgId: string): readonly KnownNode[] {
    const members = this.#byOrgId.get(orgId);
    if (members === undefined) return [];
    members.sorted ??= [...members.byName.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return members.sorted;
  }

  /** Whom a message on the wire claims to be from. */
  claimed(orgName: string, name: string): KnownNode | 'unknown_org' | 'unknown_node' {
    const members = this.#byOrgName.get(orgName);
    if (members === undefined) return 'unknown_org';
    return members.byName.get(name) ?? 'unknown_node';
  }

  add(node: KnownNode): void {
    let members = this.#byOrgId.get(node.org.id);
    if (members === undefined) {
      members = { org: node.org, byName: new Map(), sorted: null };
      this.#byOrgId.set(node.org.id, members);
      this.#byOrgName.set(node.org.name, members);
    }
    if (!members.byName.has(node.name)) this.#size += 1;
    members.byName.set(node.name, node);
    members.sorted = null;
  }

  remove(node: KnownNode): void {
    const members = this.#byOrgId.get(node.org.id);
    if (members === undefined || !members.byName.delete(node.name)) return;
    this.#size -= 1;
    members.sorted = null;
    if (members.byName.size > 0) return;
    this.#byOrgId.delete(members.org.id);
    this.#byOrgName.delete(members.org.name);
  }

  *[Symbol.iterator](): Iterator<KnownNode> {
    for (const members of this.#byOrgId.values()) yield* members.byName.values();
  }
}
