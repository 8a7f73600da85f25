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

/** Who reads may be slower: what it is not told then is only not looked for. */
function tell(id) {
  try {
    writeSync(1, `${id}\n`);
  } catch (error) {
    if (error.code !== 'EAGAIN') throw error;
  }
}

let next = 0;
async function caller() {
  for (;;) {
    const id = String(next++);
    await (next % 2 === 0 ? store.commit : store.persist)([organization({ id, name: id, created_at: 1 })]);
    tell(id);
  }
}
await Promise.all(Array.from({ length: 7 }, caller));
