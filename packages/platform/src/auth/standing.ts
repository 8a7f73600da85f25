import { setImmediate } from 'node:timers/promises';
import type { Clock, Timer } from '@muster/base';
import { AUTH_LIMITS } from './limits.js';
import type { AuthRepository } from './repository.js';
import type { Credential, Identity, Organization, Permission } from './types.js';

/** What somebody was let in on. */
export interface Ground {
  readonly identity: Identity;
  readonly credential: Credential;
  readonly organization: Organization | null;
  readonly permission: Permission;
  /** What the route names, when the permission depends on it. */
  readonly subject: string | undefined;
}

export interface StandingDeps {
  readonly repository: Pick<AuthRepository, 'onChanged'>;
  readonly clock: Clock;
  /** Would it be let in now? */
  readonly stands: (ground: Ground) => Promise<boolean>;
  /** What a change has left could not be read; it is tried again. */
  readonly failed: (error: unknown) => void;
}

/** Answers that stay open on the same ground. */
interface Watched {
  readonly ground: Ground;
  readonly lost: Set<() => void>;
  /** Of the end of the token or key. */
  timer: Timer | null;
}

/**
 * For answers that stay open: the ground on which each was begun is looked at again after every change of identities,
 * groups and grants, of whom a thing admits, and when its token or key expires. Those whose ground is gone are told, once.
 */
export class Standing {
  readonly #deps: StandingDeps;
  readonly #watched = new Map<string, Watched>();
  readonly #stopListening: () => void;
  #changes = 0;
  #dirty = false;
  #looking = false;
  #stopped = false;

  constructor(deps: StandingDeps) {
    this.#deps = deps;
    this.#stopListening = deps.repository.onChanged((scope) => {
      // A new client takes nothing from anybody.
      if (scope === 'anything') this.changed();
    });
  }

  /** What rights depend on was changed, and is stored: that of identities by itself, that of a layer by whoever changed it. */
  changed(): void {
    this.#changes++;
    this.#look();
  }

  /** Counts changes: what was judged before one may hold no longer. To be read before judging. */
  get changes(): number {
    return this.#changes;
  }

  /** How many grounds are watched. */
  get size(): number {
    return this.#watched.size;
  }

  /**
   * Calls `lost` once when the ground is gone, and never before this returns. Returns how to stop watching.
   * @param changes as they were before the ground was judged.
   */
  watch(ground: Ground, changes: number, lost: () => void): () => void {
    const key = keyOf(ground);
    const watched: Watched = this.#watched.get(key) ?? { ground, lost: new Set(), timer: null };
    if (watched.lost.size === 0) this.#begin(key, watched);
    // The same function may be given for two answers.
    const tell = (): void => lost();
    watched.lost.add(tell);
    if (changes !== this.#changes) this.#look();
    return () => {
      watched.lost.delete(tell);
      if (watched.lost.size === 0) this.#end(key, watched);
    };
  }

  stop(): void {
    this.#stopped = true;
    this.#stopListening();
    for (const [key, watched] of this.#watched) this.#end(key, watched);
  }

  #begin(key: string, watched: Watched): void {
    this.#watched.set(key, watched);
    const { credential } = watched.ground;
    if (credential.expiresMs === null) return;
    const { clock } = this.#deps;
    watched.timer = clock.after(credential.expiresMs - clock.now(), () => this.#lose(key, watched));
  }

  #end(key: string, watched: Watched): void {
    watched.timer?.cancel();
    if (this.#watched.get(key) === watched) this.#watched.delete(key);
  }

  #lose(key: string, watched: Watched): void {
    this.#end(key, watched);
    const told = [...watched.lost];
    watched.lost.clear();
    for (const tell of told) tell();
  }

  #look(): void {
    this.#dirty = true;
    if (this.#looking || this.#stopped) return;
    this.#looking = true;
    this.#lookUntilClean().catch((error: unknown) => {
      this.#deps.failed(error);
      this.#deps.clock.after(AUTH_LIMITS.lookAgainMs, () => this.#look());
    });
  }

  async #lookUntilClean(): Promise<void> {
    try {
      while (this.#dirty && !this.#stopped) {
        this.#dirty = false;
        let looked = 0;
        for (const [key, watched] of [...this.#watched]) {
          // So that others have their turns.
          if (++looked % AUTH_LIMITS.looksPerTurn === 0) await setImmediate();
          if (watched.lost.size > 0 && !(await this.#deps.stands(watched.ground))) this.#lose(key, watched);
        }
      }
    } finally {
      // In the same moment in which nothing is left to look at: a change that comes next begins anew.
      this.#looking = false;
    }
  }
}

function keyOf({ identity, credential, organization, permission, subject }: Ground): string {
  const proof = credential.kind === 'key' ? credential.pem : credential.hash;
  return JSON.stringify([identity.principalId, proof, organization?.id, permission, subject]);
}
