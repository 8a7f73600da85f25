import { type Auth, actorOf, type Identity, insertNode, type Organization, whilePresent } from '@muster/platform/auth';
import type { Store } from '@muster/store';
import { MusterError } from '../errors.js';
import type { KnownNode } from '../known-node.js';
import { NODE_LIMITS } from '../limits.js';
import type { NodeListener } from '../types.js';
import { deleteSshNode, insertSshNode, loadSshNodes, updateSshNode } from './repository.js';
import type { SshHosts, SshNode, SshNodeFields, SshStanding } from './types.js';

export interface SshNodesDeps {
  readonly store: Pick<Store, 'read'>;
  readonly auth: Pick<Auth, 'changes' | 'listeners'>;
  readonly registry: {
    get(orgId: string, name: string): KnownNode | undefined;
    known(org: Organization, name: string): KnownNode;
    listen(listener: Partial<NodeListener>): void;
  };
  readonly standing: SshHosts['standing'];
}

export interface SshNodeListener {
  /** It is new, or was changed: then with what it was before. */
  set(node: SshNode, before: SshNode | null): void;
  removed(node: SshNode): void;
}

/** The nodes without an agent. Each is a node like all others, whose name no agent can enrol under. */
export class SshNodes {
  readonly #deps: SshNodesDeps;
  readonly #nodes = new Map<string, SshNode>();
  #listener: SshNodeListener | null = null;

  constructor(deps: SshNodesDeps) {
    this.#deps = deps;
    deps.registry.listen({
      removing: async ({ org, name }, trx) => {
        if (this.get(org.id, name) !== undefined) await deleteSshNode(trx, org.id, name);
      },
      removed: ({ org, name }) => {
        const node = this.get(org.id, name);
        if (node === undefined) return;
        this.#nodes.delete(keyOf(org.id, name));
        this.#listener?.removed(node);
      },
    });
  }

  async load(): Promise<void> {
    for (const node of await loadSshNodes(this.#deps.store)) {
      this.#nodes.set(keyOf(node.org.id, node.name), node);
      this.#stand(node);
    }
  }

  /** Until its host is reached, its labels are known from here alone: selectors choose it, and it is told as down. */
  #stand(node: SshNode): void {
    const { org, name, policy } = node;
    const { registry, standing } = this.#deps;
    const known = registry.known(org, name);
    known.via = 'ssh';
    known.whyUnreached = () => whyDown(standing(node));
    if (Object.keys(known.facts).length === 0) known.labels = policy.labels ?? {};
  }

  listen(listener: SshNodeListener): void {
    this.#listener = listener;
  }

  get(orgId: string, name: string): SshNode | undefined {
    return this.#nodes.get(keyOf(orgId, name));
  }

  /** By name. */
  of(orgId: string): readonly SshNode[] {
    return [...this.#nodes.values()]
      .filter(({ org }) => org.id === orgId)
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  all(): Iterable<SshNode> {
    return this.#nodes.values();
  }

  /** @throws MusterError `already_exists`, `too_busy` */
  async create(org: Organization, name: string, fields: SshNodeFields, by: Identity): Promise<SshNode> {
    const { auth, registry } = this.#deps;
    const { changes, listeners } = auth;
    if (registry.get(org.id, name) !== undefined) throw new MusterError('already_exists', { kind: 'node', name });
    const most = NODE_LIMITS.sshNodes;
    if (this.of(org.id).length >= most)
      throw new MusterError('too_busy', { what: 'nodes without an agent', limit: most });
    const { now } = changes;
    const node: SshNode = { ...fields, id: changes.newId(), org, name, createdAt: now, updatedAt: now };
    const change = {
      orgId: org.id,
      actor: actorOf(by),
      action: 'ssh_node.create',
      target: name,
      detail: { address: whereOf(node), host_key: node.hostKey ?? 'none', commands: allowed(node) },
    } as const;
    const principal = { id: changes.newId(), orgId: org.id, name, now };
    await whilePresent(
      org,
      changes.apply(
        change,
        async (trx) => {
          await insertNode(trx, principal);
          await insertSshNode(trx, node);
        },
        { orgId: org.id, client: name },
      ),
    );
    this.#nodes.set(keyOf(org.id, name), node);
    this.#stand(node);
    listeners.nodeCreated(org, name);
    this.#listener?.set(node, null);
    return node;
  }

  /** @throws MusterError `not_found` when it was deleted meanwhile */
  async change(before: SshNode, fields: SshNodeFields, by: Identity): Promise<SshNode> {
    const { changes } = this.#deps.auth;
    const { org, name } = before;
    const node: SshNode = { ...before, ...fields, updatedAt: changes.now };
    const changed = (Object.keys(fields) as (keyof SshNodeFields)[]).filter(
      (field) => JSON.stringify(before[field]) !== JSON.stringify(fields[field]),
    );
    if (changed.length === 0) {
      // What a secret holds may be new: its host is looked at again.
      this.#listener?.set(before, before);
      return before;
    }
    const change = {
      orgId: org.id,
      actor: actorOf(by),
      action: 'ssh_node.change',
      target: name,
      detail: {
        ...{ changed: changed.join(', '), address: whereOf(node), host_key: node.hostKey ?? 'none' },
        commands: allowed(node),
      },
    } as const;
    await whilePresent(
      org,
      changes.apply(change, async (trx) => {
        if (!(await updateSshNode(trx, node))) throw new MusterError('not_found', { kind: 'ssh node', name });
      }),
    );
    this.#nodes.set(keyOf(org.id, name), node);
    this.#stand(node);
    this.#listener?.set(node, before);
    return node;
  }
}

/** In half a sentence. */
function whyDown({ state, trouble }: SshStanding): string {
  if (state === 'reached') return 'its host is reached, and it is up within a few heartbeat intervals';
  return trouble?.replace(/\.$/, '') ?? 'its host was not asked yet';
}

export function whereOf({ user, host, port }: Pick<SshNode, 'user' | 'host' | 'port'>): string {
  const literal = host.includes(':') ? `[${host}]` : host;
  return `${user}@${literal}:${port}`;
}

/** For the audit: what decides most of what can be done there. */
function allowed({ policy }: SshNode): string {
  if (policy.allow_any === true) return 'any';
  const names = Object.keys(policy.commands ?? {});
  return names.length === 0 ? 'none' : names.join(', ');
}

function keyOf(orgId: string, name: string): string {
  return `${orgId}/${name}`;
}
