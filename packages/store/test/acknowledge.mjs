// Commits for ever and prints what was acknowledged, until it is killed.
import { writeSync } from 'node:fs';
import { systemClock } from '@muster/base';
import { platformMigrations } from '@muster/platform/schema';
import { open, upsert } from '@muster/store';

const organization = upsert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);
const store = await open(
  { kind: 'sqlite', path: process.argv[2] },
  { clock: systemClock, migrations: [platformMigrations] },
);

let next = 0;
async function caller() {
  for (;;) {
    const id = String(next++);
    await (next % 2 === 0 ? store.commit : store.persist)([organization({ id, name: id, created_at: 1 })]);
    writeSync(1, `${id}\n`);
  }
}
await Promise.all(Array.from({ length: 7 }, caller));
