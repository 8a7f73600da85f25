import { createServer } from 'node:net';

/** Below the range that the system hands out for outgoing connections, so that nobody takes a port while we look. */
const LOWEST = 20_000;
const HIGHEST = 32_000;
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
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await bindable(port)) found.add(port);
  }
  if (found.size < count) throw new Error(`found only ${found.size} of ${count} free ports`);
  return [...found];
}
