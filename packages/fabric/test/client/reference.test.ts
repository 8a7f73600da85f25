import { readFileSync } from 'node:fs';
import type { MusterError } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { World } from './support.js';

const PAGE = readFileSync(new URL('../../../../docs/reference/client-library.md', import.meta.url), 'utf8');
const WRONG = { 'no such field': 1 } as object;

let world: World;

beforeEach(async () => {
  world = await World.start();
});
afterEach(() => world.end());

/** The names that an error for an unknown field lists. */
async function known(refused: () => unknown): Promise<string[]> {
  const error = await (async () => refused())().then(
    () => null,
    (reason: MusterError) => reason,
  );
  return /there are (.*)$/.exec(error?.message ?? '')?.[1]?.split(', ') ?? [];
}

/** First cells of the table under a heading. */
function described(heading: string): string[] {
  const [, section = ''] = PAGE.split(`### ${heading}\n`);
  const cells = [...(section.split('\n#')[0] ?? '').matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell);
  return cells.flatMap((cell) => cell.split(', ')).map((name) => name.replaceAll('`', ''));
}

describe('the reference of the client library describes every field', () => {
  it('of `connect`', async () => {
    const options = await known(() => world.connect(WRONG));
    const nested = await known(() => world.connect({ reconnect: WRONG }));
    expect(described('Of `connect`').sort()).toEqual([...options, ...nested.map((name) => `reconnect.${name}`)].sort());
  });

  it('of `subscribe`', async () => {
    const options = await known(() => world.connect().subscribe(WRONG));
    expect(described('Of `subscribe`').sort()).toEqual(options.sort());
  });

  it('of events', async () => {
    const client = await world.connected();
    const fields = await known(() => client.publish({ type: 'a', ...WRONG }));
    expect(described('Of events').sort()).toEqual(fields.sort());
  });
});
