import { createServer } from 'node:net';

/** Below the range that the system hands out for outgoing connections, so that nobody takes a port while we look. */
const LOWEST = 20_000;
const HIGHEST = 32_000;
/** Enough for all servers that the files of one process start, and as many again before a port is used a second time. */
const BLOCK = 200;
const BLOCKS = (HIGHEST - LOWEST) / BLOCK;

/**
 * A part of the ports that is this process's as long as it lives, also against another run of the tests: whoever listens on the first port
 * of a block has it all. A port that is free only because its server is down between a kill and its restart must not be found by another
 * test: a stranger's server would answer in its place.
 */
let block: Promise<number> | undefined;
/** Ports of the block that were looked at. */
let looked = 0;

/** Whether nobody listens on this port; `kept`: we do, from now on. */
function bindable(port: number, kept = false): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.on('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => {
      if (kept) {
        probe.unref();
        resolve(true);
      } else probe.close(() => resolve(true));
    });
  });
}

async function ownBlock(): Promise<number> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let at = 0; at < BLOCKS; at++) {
    const first = LOWEST + ((start + at) % BLOCKS) * BLOCK;
    if (await bindable(first, true)) return first;
  }
  throw new Error(`all ${BLOCKS} blocks of ports from ${LOWEST} to ${HIGHEST} are taken`);
}

/** Ports on 127.0.0.1 that nobody listens on, and that no other process finds here. */
export async function freePorts(count: number): Promise<number[]> {
  block ??= ownBlock();
  const first = await block;
  const found: number[] = [];
  for (let attempt = 0; attempt < BLOCK && found.length < count; attempt++) {
    const port = first + 1 + (looked++ % (BLOCK - 1));
    if (await bindable(port)) found.push(port);
  }
  if (found.length < count) throw new Error(`found only ${found.length} of ${count} free ports from ${first}`);
  return found;
}
