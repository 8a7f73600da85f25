// An agent in a process of its own, to be killed.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startAgent } from '@muster/agent';
import { systemClock } from '@muster/base';
import pino from 'pino';

const [, , server, dir, tasks = '{}'] = process.argv;
const config = join(dir, 'crash.json');
writeFileSync(config, JSON.stringify({ allow_any: true, grace: 0.2, tasks: JSON.parse(tasks) }));
await startAgent(
  { server, org: 'acme', name: 'node1', key: join(dir, 'key.pem'), config, dataDir: join(dir, 'data') },
  { clock: systemClock, logger: pino({ level: 'silent' }), random: Math.random },
);
