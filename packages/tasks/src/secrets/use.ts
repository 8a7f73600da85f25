import { createHash } from 'node:crypto';
import { type Auth, type Identity, type Organization, principalNow } from '@muster/platform/auth';
import { SECRET_LIMITS, SECRET_NAME, type Secrets } from '@muster/platform/secrets';
import type { Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { invalid, isFields } from '../request/fields.js';

/** Secrets that a queue or a task names for its plugin. */
export interface SecretUse {
  /** Names of secrets, by what the plugin finds each as. */
  readonly named: Readonly<Record<string, string>>;
  /** With whose rights, looked at whenever a node asks for them. */
  readonly by: { readonly principalId: string; readonly name: string };
  /** Of a task: where its queue led when somebody named them for it (`placeOf`). */
  readonly place?: string;
}

/** As they are asked for: whoever asks is put to them where it is stored. */
export type AskedSecrets = Readonly<Record<string, string>>;

const NAME = new RegExp(SECRET_NAME);

/** What of a queue decides who gets what is given to its tasks. */
interface Leading {
  readonly plugin: string;
  readonly rules: { readonly nodes: string | null; readonly ignoreNodes: string | null };
}

/**
 * To which plugin on which nodes a queue leads. Who changes that may be somebody who may not use the secrets that others named for
 * tasks of the queue: these go nowhere else than to where they led.
 */
export function placeOf({ plugin, rules: { nodes, ignoreNodes } }: Leading): string {
  return createHash('sha256')
    .update(JSON.stringify([plugin, nodes, ignoreNodes]))
    .digest('base64url')
    .slice(0, 22);
}

/** @param place Undefined: they are named just now. @throws MusterError `secret_elsewhere` */
export function assertPlace(queue: Leading & { readonly name: string }, place: string | undefined): void {
  if (place !== undefined && place !== placeOf(queue)) throw new MusterError('secret_elsewhere', { queue: queue.name });
}

/** @throws MusterError `invalid_field` */
export function readSecretNames(field: string, value: unknown): AskedSecrets {
  if (!isFields(value)) throw invalid(field, 'must be an object: {"password": "db_password"}');
  const named = Object.entries(value);
  const most = SECRET_LIMITS.perJob;
  if (named.length > most) throw invalid(field, `must not be more than ${most}`);
  for (const [file, secret] of named) {
    if (!NAME.test(file)) throw invalid(`${field}.${file}`, 'is no name of a file');
    if (typeof secret !== 'string' || !NAME.test(secret))
      throw invalid(`${field}.${file}`, 'must be the name of a secret');
  }
  return Object.fromEntries(named) as AskedSecrets;
}

/** What the layer needs to know of secrets. */
export interface TaskSecrets {
  /** @throws MusterError `secret_forbidden` */
  assertUsable(org: Organization, named: AskedSecrets, by: SecretUse['by']): Promise<void>;
  /** For the audit: who has named which secrets, for what. To be stored with that. */
  used(org: Organization, named: AskedSecrets, by: User, detail: Readonly<Record<string, string | number>>): Write[];
}

type User = Pick<Identity, 'name' | 'principalId' | 'type'>;

/** Looks at rights as they are now: an access token of an issuer leaves nobody behind who could have them later. */
export function taskSecrets(
  secrets: Pick<Secrets, 'usable'>,
  { audit, repository }: Pick<Auth, 'audit' | 'repository'>,
): TaskSecrets {
  return {
    used(org, named, by, detail) {
      const actor = { name: by.name, kind: by.type };
      const entry = { orgId: org.id, actor, action: 'secret.use', outcome: 'done', detail } as const;
      return namesIn(named).map((target) => audit.write({ ...entry, target }));
    },
    async assertUsable(org, named, by) {
      const names = namesIn(named);
      if (names.length === 0) return;
      const identity: Identity | null = await principalNow(repository, org, by);
      for (const name of names) {
        if (identity === null) throw new MusterError('secret_forbidden', { name: by.name, secret: name });
        await secrets.usable(org, name, identity);
      }
    },
  };
}

function namesIn(named: AskedSecrets): readonly string[] {
  return [...new Set(Object.values(named))];
}

/** Where nothing has secrets. */
export const NO_SECRETS: TaskSecrets = {
  used: () => [],
  assertUsable: async (_org, named, { name }) => {
    const [secret] = Object.values(named);
    if (secret !== undefined) throw new MusterError('secret_forbidden', { name, secret });
  },
};
