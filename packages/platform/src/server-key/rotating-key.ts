import {
  fingerprintOf,
  generateKeyPair,
  linkKeys,
  type ServerKey,
  type ServerKeyLink,
  type ServerKeys,
  serverKey,
} from '@muster/signing';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { AuthAction } from '../auth/actions.js';
import { SERVER } from '../auth/server-actor.js';
import type { Actor } from '../auth/types.js';
import { MusterError } from '../errors.js';
import type { KeyFile, KeyFiles } from './key-files.js';
import { isDue, type Rotation, recoverRotation, stepRotation } from './machine.js';

/** What was done to the key, until the audit and the events have it. */
export interface Told {
  readonly action: Extract<AuthAction, `server_key.${string}`>;
  readonly actor: Actor;
  /** Fingerprint of the key that it was done to. */
  readonly target: string;
  readonly detail: Readonly<Record<string, string>>;
}

const UNTOLD = 100;
const Link = Type.Object({
  previous: Type.String(),
  key: Type.String(),
  announced_at: Type.String(),
  takes_over_at: Type.String(),
  revoked: Type.Boolean(),
  signature: Type.String(),
  confirmation: Type.String(),
});
const Written = Type.Object({
  links: Type.Array(Link),
  next: Type.Union([Link, Type.Null()]),
  untold: Type.Array(
    Type.Object({ action: Type.String(), actor: Type.Object({}), target: Type.String(), detail: Type.Object({}) }),
  ),
});

const NOTHING = { links: [], next: null, untold: [] };

/** A key that is to take over, and the file that it is in until then. */
interface Announced {
  readonly key: ServerKey;
  readonly file: NextFile;
}

type NextFile = Extract<KeyFile, 'server-new.pem' | 'server-next.pem'>;
const NEXT_FILES: readonly NextFile[] = ['server-next.pem', 'server-new.pem'];

/**
 * The server's key in its data directory, and the one that is to replace it. Every change is on the disk before anything is signed with
 * the key that it brings; what a crash left between two steps is put right at the next start. A change is made by the moment that
 * server-keys.json is written: what fails before leaves files and memory as they were, what fails after is done again.
 */
export class RotatingServerKey implements ServerKeys {
  readonly #files: KeyFiles;
  readonly #generate: typeof generateKeyPair;
  #present: ServerKey;
  #announced: Announced | null;
  #rotation: Rotation;
  #untold: readonly Told[];

  private constructor(
    files: KeyFiles,
    generate: typeof generateKeyPair,
    found: {
      readonly present: ServerKey;
      readonly announced: Announced | null;
      readonly rotation: Rotation;
      readonly untold: readonly Told[];
    },
  ) {
    this.#files = files;
    this.#generate = generate;
    this.#present = found.present;
    this.#announced = found.announced;
    this.#rotation = found.rotation;
    this.#untold = found.untold;
  }

  /** The key is made when there is none. @throws MusterError `invalid_configuration` */
  static async open(files: KeyFiles, generate: typeof generateKeyPair = generateKeyPair): Promise<RotatingServerKey> {
    if (files.read('server.pem') === null) files.write('server.pem', (await generate()).privateKey);
    const present = keyIn(files, 'server.pem');
    const waiting = NEXT_FILES.filter((file) => files.read(file) !== null);
    const keysOf = waiting.map((file): Announced => ({ key: keyIn(files, file), file }));
    const { untold, ...written } = readWritten(files);
    const told = written.next === null ? null : fingerprintOf(written.next.key);
    const next = keysOf.find(({ key }) => key.fingerprint === told) ?? null;
    const found = { present: present.fingerprint, next: next?.key.fingerprint ?? null };
    const recovered = recoverRotation(written, found, fingerprintOf);
    if (recovered === null) throw unusable(`${files.path('server.pem')} is not the key that server-keys.json tells of`);
    const { rotation, tookOver } = recovered;
    const announced = rotation.next === null ? null : next;
    const keys = new RotatingServerKey(files, generate, { present, announced, rotation, untold });
    if (tookOver) keys.#tell('server_key.take_over', SERVER, present.fingerprint);
    if (tookOver || recovered.lost) keys.#write(keys.#rotation, keys.#untold);
    // Made for an announcement that was never written down, or was taken back, or that another one took the place of.
    for (const { file } of keysOf) if (file !== announced?.file) files.remove(file);
    return keys;
  }

  get present(): ServerKey {
    return this.#present;
  }

  get next(): ServerKeyLink | null {
    return this.#rotation.next;
  }

  get links(): readonly ServerKeyLink[] {
    return this.#rotation.links;
  }

  /** What is to be told, the oldest first. */
  get untold(): readonly Told[] {
    return this.#untold;
  }

  /** @throws MusterError `server_key_announced`, `too_many_server_keys` */
  async announce(actor: Actor, at: { readonly now: number; readonly takesOverAt: number }): Promise<ServerKeyLink> {
    const times = { announcedAt: at.now, takesOverAt: at.takesOverAt };
    return this.#link('announce', times, ({ key, takes_over_at }) => ({
      ...{ action: 'server_key.announce', actor, target: fingerprintOf(key) },
      detail: { takes_over_at },
    }));
  }

  /** The present key is no secret any more: another one takes its place now. */
  async revoke(actor: Actor, now: number): Promise<ServerKeyLink> {
    const target = this.#present.fingerprint;
    const link = await this.#link('revoke', { announcedAt: now, takesOverAt: now }, ({ key }) => ({
      ...{ action: 'server_key.revoke', actor, target },
      detail: { replaced_by: fingerprintOf(key) },
    }));
    try {
      this.#takeOver();
      this.#write(this.#rotation, this.#untold);
    } catch {
      // It is written down, and due: whoever sees to what is due does the rest.
    }
    await this.#files.settled();
    return link;
  }

  /** @throws MusterError `no_server_key_announced` */
  cancel(actor: Actor): void {
    const { next } = this.#rotation;
    const rotation = stepRotation(this.#rotation, { type: 'cancel' });
    const target = next === null ? '' : fingerprintOf(next.key);
    this.#write(rotation, added(this.#untold, { action: 'server_key.cancel', actor, target, detail: {} }));
    const file = this.#announced?.file;
    this.#announced = null;
    if (file !== undefined) this.#forget(file);
  }

  /** Whether the announced key was due, and is the present one now. */
  takeOverIfDue(now: number): boolean {
    const { next } = this.#rotation;
    if (next === null || !isDue(this.#rotation, now)) return false;
    this.#takeOver();
    // Who revoked the one before was told of with it.
    if (!next.revoked) this.#tell('server_key.take_over', SERVER, this.#present.fingerprint);
    this.#write(this.#rotation, this.#untold);
    return true;
  }

  /** The oldest that was to be told has been. */
  wasTold(): void {
    this.#untold = this.#untold.slice(1);
    this.#write(this.#rotation, this.#untold);
  }

  async #link(
    type: 'announce' | 'revoke',
    at: { readonly announcedAt: number; readonly takesOverAt: number },
    telling: (link: ServerKeyLink) => Told,
  ): Promise<ServerKeyLink> {
    const pair = await this.#generate();
    const key = serverKey(pair.privateKey);
    const link = linkKeys(this.#present, key, { ...at, revoked: type === 'revoke' });
    const rotation = stepRotation(this.#rotation, { type, link });
    // Beside one that is announced, which is the next one until this is written down.
    const before = this.#announced;
    const file: NextFile = before?.file === 'server-next.pem' ? 'server-new.pem' : 'server-next.pem';
    try {
      this.#files.write(file, pair.privateKey);
      this.#write(rotation, added(this.#untold, telling(link)));
    } catch (error) {
      this.#forget(file);
      throw error;
    }
    this.#announced = { key, file };
    if (before !== null) this.#forget(before.file);
    await this.#files.settled();
    return link;
  }

  /** Written down afterwards: until then it is found by the key in its place. */
  #takeOver(): void {
    if (this.#announced === null) return;
    const { key, file } = this.#announced;
    this.#files.rename(file, 'server.pem');
    this.#present = key;
    this.#announced = null;
    this.#rotation = stepRotation(this.#rotation, { type: 'take over' });
  }

  #tell(action: Told['action'], actor: Actor, target: string): void {
    this.#untold = added(this.#untold, { action, actor, target, detail: {} });
  }

  /** In memory it is so once it is on the disk. */
  #write(rotation: Rotation, untold: readonly Told[]): void {
    this.#files.write('server-keys.json', `${JSON.stringify({ ...rotation, untold })}\n`);
    this.#rotation = rotation;
    this.#untold = untold;
  }

  /** What is not of use any more, and would be removed at the next start. */
  #forget(file: NextFile): void {
    try {
      this.#files.remove(file);
    } catch {
      // It stays, and nobody takes it for anything.
    }
  }
}

function added(untold: readonly Told[], told: Told): readonly Told[] {
  return [...untold, told].slice(-UNTOLD);
}

function keyIn(files: KeyFiles, file: KeyFile): ServerKey {
  try {
    return serverKey(files.read(file) ?? '');
  } catch (cause) {
    throw unusable(`${files.path(file)} is not a private key`, cause);
  }
}

function readWritten(files: KeyFiles): Rotation & { readonly untold: readonly Told[] } {
  const text = files.read('server-keys.json');
  if (text === null) return NOTHING;
  try {
    const value: unknown = JSON.parse(text);
    if (Value.Check(Written, value)) return value as unknown as ReturnType<typeof readWritten>;
  } catch {
    // Told below.
  }
  throw unusable(`${files.path('server-keys.json')} is not what a server wrote`);
}

function unusable(what: string, cause?: unknown): MusterError {
  const reason = `${what}; restore server.pem and server-keys.json from one backup, or move both away: a new key is made, and every agent must be told to forget the old one (DATA_DIR/server.pub)`;
  return new MusterError('invalid_configuration', { reason }, { cause });
}
