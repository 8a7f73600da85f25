import type { KeyPair } from '@muster/signing';
import { newKey } from '../../../signing/test/support/made-keys.js';
import type { Actor } from '../../src/auth/types.js';
import type { Client, Persona, Reply } from './signed-client.js';

export { newKey };

/** Who changes identities in tests that have no caller. */
export const ME: Actor = { name: 'me', kind: 'user' };

let shared: KeyPair | undefined;

/** One key for everybody in a test file: making keys takes longer than most tests. */
export function sharedKey(): KeyPair {
  shared ??= newKey();
  return shared;
}

/** The callers of the acceptance suite (sheet §9.1). All sign with the shared key, except `admin` and `bogusClient`. */
export interface Personas {
  readonly admin: Persona;
  readonly normal: Persona;
  readonly outside: Persona;
  /** No such principal. */
  readonly invalid: Persona;
  readonly memberClient: Persona;
  readonly adminClient: Persona;
  /** Signs as `member-client` with another key. */
  readonly bogusClient: Persona;
}

export function done(reply: Reply): Reply {
  if (reply.status < 200 || reply.status > 299) throw new Error(`${reply.status} ${reply.text}`);
  return reply;
}

export async function createPersonas(api: Client, admin: Persona): Promise<Personas> {
  const { publicKey: public_key, privateKey } = sharedKey();
  const create = async (path: string, name: string, more: object = {}): Promise<Persona> => {
    done(await api.post(path, { name, public_key, ...more }));
    return { name, privateKey };
  };
  const personas = {
    admin,
    normal: await create('/users', 'normal-user', { organization: 'default' }),
    outside: await create('/users', 'outside-user', { organization: null }),
    invalid: { name: 'invalid', privateKey },
    memberClient: await create('/organizations/default/nodes', 'member-client'),
    adminClient: await create('/organizations/default/nodes', 'admin-client'),
    bogusClient: { name: 'member-client', privateKey: newKey().privateKey },
  };
  const members = { users: ['admin'], clients: ['admin-client'] };
  done(await api.put('/organizations/default/groups/admins', members));
  return personas;
}
