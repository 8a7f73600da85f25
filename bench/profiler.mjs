/** Preloaded into server and relays under `--profile`: SIGUSR2 begins a CPU profile, the next one writes it. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
let running = false;

process.on('SIGUSR2', async () => {
  running = !running;
  if (running) return session.post('Profiler.start');
  const { profile } = await session.post('Profiler.stop');
  const name = `${process.argv[2]}-${process.pid}-${Date.now()}.cpuprofile`;
  mkdirSync(process.env.MUSTER_BENCH_PROFILE, { recursive: true });
  writeFileSync(join(process.env.MUSTER_BENCH_PROFILE, name), JSON.stringify(profile));
});
