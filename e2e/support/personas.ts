import type { KeyPair } from '@muster/signing';
import { newKey } from '../../packages/signing/test/support/made-keys.js';
import type { ApiClient, Persona } from './api-client.js';

export { newKey };

let shared: KeyPair | undefined;

/** One key for every principal of a test file: making them takes longer than most tests. */
export function sharedKey(): KeyPair {
  shared ??= newKey();
  return shared;
}

/** The callers of the acceptance suite (sheet §9.1). */
export interface Personas {
  readonly admin: Persona;
  readonly normal: Persona;
  readonly outside: Persona;
  /** No such principal. */
  readonly invalid: Persona;
  readonly memberClient: Persona;
  readonly adminClient: Persona;
  /** A client of the organization, signing with a key that is not its own. */
  readonly bogusClient: Persona;
}

/** Creates the personas that exist; `admin` does it. */
export async function createPersonas(admin: ApiClient): Promise<Personas> {
  const { publicKey, privateKey } = sharedKey();
  const created = async (path: string, name: string, more: object = {}): Promise<Persona> => {
    expectDone(await admin.call('POST', path, { body: { name, public_key: publicKey, ...more } }));
    return { name, privateKey };
  };
  const normal = await created('/users', 'normal-user');
  const outside = await created('/users', 'outside-user', { organization: null });
  const memberClient = await created(admin.path('nodes'), 'member-client');
  const adminClient = await created(admin.path('nodes'), 'admin-client');
  expectDone(await admin.put('groups/admins', { users: ['admin'], clients: ['admin-client'], groups: [] }));
  return {
    admin: admin.persona,
    normal,
    outside,
    invalid: { name: 'invalid', privateKey },
    memberClient,
    adminClient,
    bogusClient: { name: 'member-client', privateKey: newKey().privateKey },
  };
}

/** The answer, which must be a success. */
export function expectDone<T extends { readonly status: number; readonly text: string }>(reply: T): T {
  if (reply.status < 200 || reply.status > 299) throw new Error(`${reply.status} ${reply.text}`);
  return reply;
}

/** The groups of JOBS-30 and the like: whoever is not in them is shut out, admins too (sheet §7.3). */
export async function withReadersAndWriters<T>(admin: ApiClient, nested: boolean, work: () => Promise<T>): Promise<T> {
  const members = { users: ['normal-user', 'outside-user'], clients: ['member-client'], groups: [] };
  const names = ['push_job_readers', 'push_job_writers'];
  for (const name of names) {
    if (nested) expectDone(await admin.put(`groups/${name}_inner`, members));
    const content = nested ? { users: [], clients: [], groups: [`${name}_inner`] } : members;
    expectDone(await admin.put(`groups/${name}`, { ...content, exclusive: true }));
  }
  try {
    return await work();
  } finally {
    for (const name of names) {
      expectDone(await admin.delete(`groups/${name}`));
      if (nested) expectDone(await admin.delete(`groups/${name}_inner`));
    }
  }
}
