import { request } from 'node:http';
import { ServerAgent } from './connect.js';
import { CLUSTER_LIMITS } from './limits.js';
import type { ClusterServer } from './servers.js';

/** Longest answer of `/_status` that is read. */
const MOST_BYTES = 65_536;

/**
 * Asks other servers which epoch they know of: `asked` of them, and the newest that one of those who answered knows. One that was lost may be back, and lead by now;
 * it counts as asked when it answers.
 */
export async function askOthers(
  servers: readonly Pick<ClusterServer, 'certificate' | 'lost' | 'url'>[],
): Promise<{ readonly epoch: number | null; readonly asked: number }> {
  const answers = await Promise.all(servers.map(async (server) => ({ ...server, epoch: await epochKnownTo(server) })));
  const known = answers.map(({ epoch }) => epoch).filter((epoch) => epoch !== null);
  const asked = answers.filter(({ epoch, lost }) => epoch !== null || !lost).length;
  return { epoch: known.length === 0 ? null : Math.max(...known), asked };
}

/** null: it does not answer. */
function epochKnownTo(server: Pick<ClusterServer, 'certificate' | 'url'>): Promise<number | null> {
  return new Promise((resolve) => {
    const agent = new ServerAgent(server, { keepAlive: false });
    const { hostname, port } = new URL(server.url);
    const asked = request({ agent, path: '/_status', host: hostname, port, timeout: CLUSTER_LIMITS.witnessMs });
    const done = (epoch: number | null): void => {
      asked.destroy();
      agent.destroy();
      resolve(epoch);
    };
    asked.on('timeout', () => done(null));
    asked.on('error', () => done(null));
    asked.on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => {
        text += part;
        if (text.length > MOST_BYTES) done(null);
      });
      answer.on('error', () => done(null));
      answer.on('end', () => done(epochIn(text)));
    });
    asked.end();
  });
}

/** 0: it answers, and knows of nobody who leads. */
function epochIn(text: string): number | null {
  try {
    const answer: unknown = JSON.parse(text);
    const { cluster } = answer as { readonly cluster?: { readonly epoch?: unknown } };
    return Number.isSafeInteger(cluster?.epoch) ? Number(cluster?.epoch) : 0;
  } catch {
    return null;
  }
}
