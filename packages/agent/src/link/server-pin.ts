import { createPublicKey, type KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { fingerprintOf, leadsTo, vouchedFor } from '@muster/signing';
import type { NodeConfiguration } from '@muster/wire';
import type { DurableFiles } from '../durable.js';
import { MusterError } from '../errors.js';

/** The key of the server as the node knows it. It may be put there before the first start. */
export function pinFile(dataDir: string): string {
  return join(dataDir, 'server.pub');
}

interface Pinned {
  readonly pem: string;
  readonly fingerprint: string;
}

function pinnedAs(pem: string): Pinned {
  return { pem, fingerprint: fingerprintOf(pem) };
}

/**
 * By what the node knows its server again. The first answer is believed, unless somebody has put the key into the data directory;
 * from then on the server has that key, or one to which links lead that are signed by it.
 */
export class ServerPin {
  readonly #path: string;
  readonly #files: Pick<DurableFiles, 'read' | 'write'>;
  #pinned: Pinned | null;

  private constructor(path: string, files: Pick<DurableFiles, 'read' | 'write'>, pinned: Pinned | null) {
    this.#path = path;
    this.#files = files;
    this.#pinned = pinned;
  }

  /** @throws MusterError `invalid_configuration` */
  static async open(dataDir: string, files: Pick<DurableFiles, 'read' | 'write'>): Promise<ServerPin> {
    const path = pinFile(dataDir);
    const pem = await files.read(path);
    try {
      return new ServerPin(path, files, pem === null ? null : pinnedAs(pem));
    } catch (cause) {
      const reason = `${path} is not the public key of a server; remove it, or put that key there (muster server-key status --json)`;
      throw new MusterError('invalid_configuration', { reason }, { cause });
    }
  }

  /** Its fingerprint. */
  get known(): string | null {
    return this.#pinned === null ? null : this.#pinned.fingerprint;
  }

  /**
   * The keys that may sign heartbeats under this configuration: the present one and the announced one.
   * @throws MusterError `server_key_changed`
   */
  check(configuration: NodeConfiguration): readonly KeyObject[] {
    const { public_key: pem, server_key: proof, curve_public_key: curve, incarnation_id: incarnation } = configuration;
    const { links = [], next, voucher = '' } = proof ?? {};
    const refuse = (reason: string) => {
      const known = this.known ?? 'none';
      return new MusterError('server_key_changed', { key: fingerprintOf(pem), known, reason, path: this.#path });
    };
    if (this.#pinned !== null && !leadsTo(this.#pinned.pem, pem, links))
      throw refuse('nothing that the known key has signed leads from one to the other');
    const key = createPublicKey(pem);
    // A server of others vouches for nothing, as long as none was known that does.
    if (proof !== undefined || this.#pinned !== null) {
      const about = { curvePublicKey: curve ?? '', incarnation, voucher };
      if (!vouchedFor(key, about)) throw refuse('it has not vouched for the command channel');
    }
    const announced = next !== undefined && leadsTo(pem, next.key, [next]) ? [createPublicKey(next.key)] : [];
    return [key, ...announced];
  }

  /** What was checked is known from now on, also after a crash. */
  async keep({ public_key: pem, server_key: proof }: NodeConfiguration): Promise<void> {
    if (proof === undefined || pem === this.#pinned?.pem) return;
    const found = pinnedAs(pem);
    if (found.fingerprint === this.known) return;
    await this.#files.write(this.#path, pem);
    this.#pinned = found;
  }
}
