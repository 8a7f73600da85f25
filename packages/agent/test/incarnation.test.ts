import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Journal } from '../src/incarnation.js';
import { scratch } from './support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

describe('incarnation (Push Jobs §4.5, N11)', () => {
  const lookBack = () => new Journal(place.dir).lookBack();

  it('the first start ever has a new id and says first', async () => {
    expect(await lookBack()).toMatchObject({ start: 'first' });
  });
  it('a clean stop keeps the id', async () => {
    const { incarnation } = await lookBack();
    await new Journal(place.dir).saveIncarnation(incarnation);
    expect(await lookBack()).toMatchObject({ start: 'clean', incarnation });
  });
  it('without a clean stop the id is new and the start says crash', async () => {
    const { incarnation } = await lookBack();
    const next = await lookBack();
    expect(next.start).toBe('crash');
    expect(next.incarnation).not.toBe(incarnation);
  });
  it('the file is gone while the agent runs, so a crash after a clean stop is one', async () => {
    const { incarnation } = await lookBack();
    await new Journal(place.dir).saveIncarnation(incarnation);
    await lookBack();
    expect(existsSync(join(place.dir, 'incarnation'))).toBe(false);
    expect((await lookBack()).start).toBe('crash');
  });
  it('damaged files are treated as a crash', async () => {
    await writeFile(join(place.dir, 'incarnation'), 'not an id');
    expect(await lookBack()).toMatchObject({ start: 'crash' });
  });
});
