import type { Clock } from '@muster/base';
import type { KnownNode } from './known-node.js';
import { NODE_LIMITS } from './limits.js';

export type AdmissionVerdict = 'admitted' | 'expired' | 'unknown';

interface Admission {
  readonly node: KnownNode;
  readonly until: number;
}

/**
 * Which CURVE keys may connect (sheet §2.5): a node's last one, for a while after its verified configuration request.
 * Expired ones stay known, one per node, so that a refusal can be told from a stranger's.
 */
export class Admissions {
  readonly #clock: Clock;
  readonly #lifetimeMs: number;
  readonly #byKey = new Map<string, Admission>();

  constructor(clock: Clock, lifetimeMs: number) {
    this.#clock = clock;
    this.#lifetimeMs = lifetimeMs;
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Replaces the node's former key. */
  admit(node: KnownNode, curveKey: Uint8Array): void {
    this.forget(node);
    if (this.#byKey.size >= NODE_LIMITS.admissions) {
      const oldest = this.#byKey.keys().next();
      if (!oldest.done) this.#byKey.delete(oldest.value);
    }
    const key = keyText(curveKey);
    const until = this.#clock.now() + this.#lifetimeMs;
    this.#byKey.delete(key);
    this.#byKey.set(key, { node, until });
    node.curveKey = key;
    node.diagnostics.admittedUntil = until;
  }

  check(curveKey: Uint8Array): AdmissionVerdict {
    const admission = this.#byKey.get(keyText(curveKey));
    if (admission === undefined) return 'unknown';
    if (this.#clock.now() < admission.until) return 'admitted';
    admission.node.diagnostics.handshakesRefused += 1;
    return 'expired';
  }

  forget(node: KnownNode): void {
    if (node.curveKey === null) return;
    // Another node may have announced the same key since.
    if (this.#byKey.get(node.curveKey)?.node === node) this.#byKey.delete(node.curveKey);
    node.curveKey = null;
  }
}

function keyText(curveKey: Uint8Array): string {
  return Buffer.from(curveKey.buffer, curveKey.byteOffset, curveKey.byteLength).toString('latin1');
}
