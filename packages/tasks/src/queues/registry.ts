import type { LiveQueue } from './live-queue.js';

/** All queues, by id and by name. */
export class QueueRegistry {
  readonly #byId = new Map<string, LiveQueue>();
  readonly #byOrganization = new Map<string, Map<string, LiveQueue>>();

  add(queue: LiveQueue): void {
    this.#byId.set(queue.id, queue);
    const named = this.#byOrganization.get(queue.org.id) ?? new Map<string, LiveQueue>();
    named.set(queue.queue.name, queue);
    this.#byOrganization.set(queue.org.id, named);
  }

  remove(queue: LiveQueue): void {
    queue.removed = true;
    this.#byId.delete(queue.id);
    const named = this.#byOrganization.get(queue.org.id);
    if (named?.get(queue.queue.name) === queue) named.delete(queue.queue.name);
    if (named?.size === 0) this.#byOrganization.delete(queue.org.id);
  }

  /** Before its name is changed, and after. */
  renamed(queue: LiveQueue, before: string): void {
    const named = this.#byOrganization.get(queue.org.id);
    named?.delete(before);
    named?.set(queue.queue.name, queue);
  }

  get(id: string): LiveQueue | undefined {
    return this.#byId.get(id);
  }

  /** By id, or else by name. */
  find(orgId: string, idOrName: string): LiveQueue | undefined {
    const byId = this.#byId.get(idOrName);
    return byId?.org.id === orgId ? byId : this.#byOrganization.get(orgId)?.get(idOrName);
  }

  of(orgId: string): readonly LiveQueue[] {
    return [...(this.#byOrganization.get(orgId)?.values() ?? [])];
  }

  all(): Iterable<LiveQueue> {
    return this.#byId.values();
  }
}
