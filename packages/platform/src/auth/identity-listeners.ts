import type { Organization } from './types.js';

/** Told of changes of identities that touch what runs. */
export interface IdentityListener {
  /** A node was created or enrolled. */
  nodeCreated?(organization: Organization, node: string): void;
  /** What was agreed with this key of a node ends. */
  keyRemoved?(organization: Organization, node: string, fingerprint: string): void | Promise<void>;
  /** An organization was deleted with everything in it. */
  organizationRemoved?(orgId: string): void | Promise<void>;
}

/** The layers above that listen, in the order in which they began to. */
export class IdentityListeners implements Required<IdentityListener> {
  readonly #listeners: IdentityListener[] = [];

  add(listener: IdentityListener): void {
    this.#listeners.push(listener);
  }

  nodeCreated(organization: Organization, node: string): void {
    for (const listener of this.#listeners) listener.nodeCreated?.(organization, node);
  }

  async keyRemoved(organization: Organization, node: string, fingerprint: string): Promise<void> {
    await Promise.all(this.#listeners.map(async (listener) => listener.keyRemoved?.(organization, node, fingerprint)));
  }

  /** Each is told, also when another one fails. */
  async organizationRemoved(orgId: string): Promise<void> {
    await Promise.all(this.#listeners.map(async (listener) => listener.organizationRemoved?.(orgId)));
  }
}
