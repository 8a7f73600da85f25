import { newBoxKey, type SealedBox } from '@muster/signing';
import { sql } from 'kysely';
import type { PushServer } from './push-server.js';

/** What a node is given for a job, by name; the status of the answer when that is nothing. */
export async function fetchSecrets(
  server: PushServer,
  job: string,
  node: string,
): Promise<Readonly<Record<string, string>> | number> {
  const key = newBoxKey();
  const body = { key: key.publicKey };
  const response = await server.send({ method: 'POST', path: `jobs/${job}/secrets`, body, user: node });
  if (response.status !== 200) return response.status;
  const sealed = (await response.json()) as SealedBox;
  const values = JSON.parse(key.open(sealed, `push secrets ${job} ${node}`).toString()) as Record<string, string>;
  const clear = Object.entries(values).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]);
  return Object.fromEntries(clear) as Record<string, string>;
}

/** Resolves when a node runs the job. */
export async function running(server: PushServer, job: string): Promise<void> {
  for (;;) {
    const response = await server.send({ path: `jobs/${job}/nodes` });
    if ((await response.text()).includes('"running"')) return;
  }
}

/** Everything that the database holds. */
export async function everythingStored({ test }: PushServer): Promise<string> {
  const { read } = test.store;
  let all = '';
  for (const { name } of await read.introspection.getTables()) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(read);
    for (const value of rows.flatMap((row) => Object.values(row))) {
      all += `${value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)}\n`;
    }
  }
  return all;
}
