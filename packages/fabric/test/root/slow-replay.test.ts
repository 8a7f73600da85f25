import { expect, test } from 'vitest';
import { RootFixture } from '../support/root-fixture.js';

test('a replay never makes its client a slow one, however little may wait for it', async () => {
  const given = await RootFixture.start({ outboundBytes: 65_536 });
  try {
    const [publisher, client] = await Promise.all([given.client(), given.client()]);
    for (let n = 0; n < 100; n++) publisher.publish('old', [['n', String(n)]], 'x'.repeat(4000));
    await publisher.barrier();
    await given.until(() => given.log.last() === 100);
    await client.subscribe('1', '', [['from', 'first']]);
    expect(await client.messages(100)).toHaveLength(100);
    expect(given.root.metrics.slowDisconnects).toBe(0);
  } finally {
    await given.end();
  }
});
