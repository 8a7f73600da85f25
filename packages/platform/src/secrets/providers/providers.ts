import type { Clock, Timer } from '@muster/base';
import type { ServerConfig } from '../../config/schema.js';
import { MusterError } from '../../errors.js';
import { commandProvider } from './command.js';
import { type ProviderDefinition, readProviders } from './definition.js';
import { PROVIDER_LIMITS } from './limits.js';
import { ProviderRefusal, type SecretProvider, type Wanted } from './types.js';
import { vaultProvider } from './vault.js';

/** A secret whose value somebody else keeps. */
export interface Reference {
  readonly provider: string;
  readonly reference: string;
}

/** A provider as an organization sees it. */
export interface ProviderView {
  readonly name: string;
  readonly type: ProviderDefinition['type'];
}

interface Known {
  readonly definition: ProviderDefinition;
  readonly provider: SecretProvider;
  readonly turns: Turns;
}

export interface ProvidersDeps {
  readonly clock: Pick<Clock, 'after' | 'now'>;
  readonly privateTargets: boolean;
}

/**
 * Those that the owner of the server has configured. A value is fetched when it is used. It is held in memory for a moment, so that a job
 * on thousands of nodes asks once, and stored nowhere.
 */
export class SecretProviders {
  readonly #known: ReadonlyMap<string, Known>;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #held = new Map<string, Held>();

  constructor(definitions: ReadonlyMap<string, ProviderDefinition>, { clock, privateTargets }: ProvidersDeps) {
    this.#clock = clock;
    const vault = { now: () => clock.now(), privateTargets };
    this.#known = new Map(
      [...definitions].map(([name, definition]) => {
        const provider = definition.type === 'command' ? commandProvider(definition) : vaultProvider(definition, vault);
        return [name, { definition, provider, turns: new Turns() }];
      }),
    );
  }

  /** Those that an organization may name, by name. */
  of(organization: string): readonly ProviderView[] {
    return [...this.#known]
      .filter(([, { definition }]) => definition.organizations.includes(organization))
      .map(([name, { definition }]) => ({ name, type: definition.type }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** @throws MusterError `invalid_field` for one that the organization may not name, alike when there is none */
  check(organization: string, { provider }: Reference): void {
    const names = this.of(organization).map(({ name }) => name);
    if (names.includes(provider)) return;
    const there = names.length === 0 ? 'the owner of the server has configured none' : `there are ${names.join(', ')}`;
    throw new MusterError('invalid_field', {
      field: 'provider',
      reason: `'${provider.slice(0, 100)}' is no provider of ${organization}; ${there}`,
    });
  }

  /** @throws MusterError `secret_unavailable` */
  async fetch(organization: string, secret: string, { provider: name, reference }: Reference): Promise<string> {
    const known = this.#known.get(name);
    if (known === undefined || !known.definition.organizations.includes(organization)) {
      throw unavailable(secret, name, 'it is not configured for this organization any more');
    }
    const key = JSON.stringify([organization, name, reference]);
    try {
      return await (this.#held.get(key)?.value ?? this.#fetchAndHold(key, known, { organization, reference }));
    } catch (error) {
      if (error instanceof ProviderRefusal) throw unavailable(secret, name, error.message);
      throw error;
    }
  }

  /** Forgets what it holds. */
  close(): void {
    for (const { end } of this.#held.values()) end?.cancel();
    this.#held.clear();
  }

  #fetchAndHold(key: string, { provider, turns }: Known, wanted: Wanted): Promise<string> {
    const held: Held = { value: turns.take(() => provider.fetch(wanted)), end: null };
    const forget = (): void => {
      if (this.#held.get(key) === held) this.#held.delete(key);
    };
    this.#held.set(key, held);
    held.value.then(
      () => {
        if (this.#held.get(key) === held) held.end = this.#clock.after(PROVIDER_LIMITS.heldMs, forget);
      },
      // The next that needs it asks again.
      forget,
    );
    return held.value;
  }
}

/** A value that was fetched, or is; and when that is forgotten. */
interface Held {
  readonly value: Promise<string>;
  end: Timer | null;
}

/** So many at once, the others one after the other. */
class Turns {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= PROVIDER_LIMITS.atOnce) {
      if (this.#waiting.length >= PROVIDER_LIMITS.waiting) throw new ProviderRefusal('too much is asked of it at once');
      await new Promise<void>((turn) => this.#waiting.push(turn));
    } else this.#running += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

function unavailable(secret: string, provider: string, reason: string): MusterError {
  return new MusterError('secret_unavailable', { secret, provider, reason });
}

/** As the server is configured. @throws MusterError `invalid_configuration` */
export function openSecretProviders(
  { secrets: { providers: file }, outbound }: Pick<ServerConfig, 'outbound' | 'secrets'>,
  { clock }: Pick<ProvidersDeps, 'clock'>,
): SecretProviders {
  const definitions = file === undefined ? new Map<string, ProviderDefinition>() : readProviders(file);
  return new SecretProviders(definitions, { clock, privateTargets: outbound.private_targets });
}
