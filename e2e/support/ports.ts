import { createServer } from 'node:net';

/** Below the range that the system hands out for outgoing connections, so that nobody takes a port while we look. */
const LOWEST = 20_000;
const HIGHEST = 32_000;
/** Workers that run at once look in different parts of it: a port that was found is free until a server has it. */
const PARTS = 4;
const PART_SIZE = (HIGHEST - LOWEST) / PARTS;
const FIRST = LOWEST + (Number(process.env.VITEST_POOL_ID ?? 0) % PARTS) * PART_SIZE;
const ATTEMPTS = 100;

function bindable(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

/** Ports on 127.0.0.1 that nobody listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const found = new Set<number>();
  for (let attempt = 0; attempt < ATTEMPTS && found.size < count; attempt++) {
    const port = FIRST + Math.floor(Math.random() * PART_SIZE);
    if (await bindable(port)) found.add(port);
  }
  if (found.size < count) throw new Error(`found only ${found.size} of ${count} free ports`);
  return [...found];
}
