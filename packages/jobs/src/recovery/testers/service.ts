import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { checkHost, PrivateAddress, publicLookup } from '@muster/platform/outbound';
import { blocked, clear, hopeless } from './answers.js';
import type { Tester } from './types.js';

const TIMEOUT_MS = 10_000;

/** The server at `host` and `port` answers requests by `protocol`, whatever it answers. */
export const service: Tester = {
  types: ['DEFAULT_SERVICE_CONNECTION_TESTER'],
  async test({ parameters: { host = '', port = '', protocol = 'https' } }, { privateTargets }) {
    const address = `${protocol}://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}/`;
    if (!/^https?$/.test(protocol) || !URL.canParse(address)) return hopeless(`${address} is no address of a server`);
    try {
      await ask(new URL(address), privateTargets);
      return clear(`${host} answers`);
    } catch (error) {
      if (error instanceof PrivateAddress) return hopeless(error.message);
      return blocked(error instanceof Error ? error.message : String(error));
    }
  },
};

async function ask(url: URL, privateTargets: boolean): Promise<void> {
  if (!privateTargets) checkHost(url);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  await new Promise<void>((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const asked = request(url, {
      method: 'HEAD',
      agent: false,
      signal,
      ...(privateTargets ? {} : { lookup: publicLookup() }),
    });
    asked.on('response', (response) => {
      response.destroy();
      resolve();
    });
    asked.on('error', reject);
    asked.end();
  });
}
