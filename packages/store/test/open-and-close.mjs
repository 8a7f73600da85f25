// Opens a store, closes it, and has nothing else to do.
import { systemClock } from '@muster/base';
import { open } from '@muster/store';

const store = await open({ kind: 'sqlite', path: process.argv[2] }, { migrations: [], clock: systemClock });
await store.close();
