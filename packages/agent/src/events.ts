import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Clock, Timer } from '@muster/base';
import { signLogin } from '@muster/signing';
import { MusterError } from './errors.js';
import { RETRY_LONGEST_MS } from './limits.js';
import type { NodeIdentity } from './link/configuration-request.js';
import type { AgentLog } from './logging.js';
import type { AgentSettings } from './settings.js';

export interface LocalEventsAround {
  readonly clock: Clock;
  readonly logger: AgentLog;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export interface LocalEvents {
  stop(): Promise<void>;
}

const NONCE_BYTES = 16;
/** Of the server's HTTP port. */
const WEBSOCKET_PATH = '/stomp';

/**
 * The socket for programs on this node: a relay that logs in with the node's key, and whose clients speak as the node.
 * Who may open the socket is decided by the file system. Null: none is configured.
 * @throws MusterError `invalid_configuration`: there is no such group, or an address is none
 */
export async function startLocalEvents(
  settings: AgentSettings,
  identity: NodeIdentity,
  around: LocalEventsAround,
): Promise<LocalEvents | null> {
  const { events } = settings.config;
  if (events === undefined) return null;
  const { clock, logger, random } = around;
  const group = events.group === undefined ? undefined : await groupId(events.group);
  const login = `${identity.org}/${identity.name}`;
  // Agents without a socket need not load it.
  const { startRelay } = await import('@muster/fabric/relay');
  const start = () =>
    startRelay(
      {
        upstream: events.upstream ?? webSocketOf(settings.server),
        listen: [`stomp+unix:${resolve(settings.dataDir, events.socket)}`],
        login,
        own: true,
        passcode: () =>
          signLogin({ login, timestampMs: clock.now(), nonce: randomBytes(NONCE_BYTES).toString('hex') }, identity.key),
        ...(settings.ca !== null && { ca: settings.ca }),
        ...(group !== undefined && { group }),
      },
      { clock, random, log: logger },
    );

  let stopped = false;
  let pause: Timer | null = null;
  let relay = begin(start);
  watch();
  return {
    async stop() {
      stopped = true;
      pause?.cancel();
      await relay.stop();
    },
  };

  /** What is refused now (a node that was removed and enrolled again, a socket in use) may be taken later. */
  function watch(): void {
    void relay.failed.then((error) => {
      if (stopped) return;
      // Its message says all; a stack would only tell where it was noticed.
      logger.error(
        { code: error.code, reason: error.message },
        'no events for programs on this node; trying again in a while',
      );
      pause = clock.after(RETRY_LONGEST_MS * (0.5 + random() / 2), () => {
        relay = start();
        watch();
      });
    });
  }
}

function begin<T>(start: () => T): T {
  try {
    return start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new MusterError('invalid_configuration', { reason: `events: ${reason}` }, { cause: error });
  }
}

function webSocketOf(server: URL): string {
  return server.href.replace(/^http/, 'ws').replace(/\/+$/, '') + WEBSOCKET_PATH;
}

async function groupId(name: string, file = '/etc/group'): Promise<number> {
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const [group, , id] = line.split(':');
    if (group === name && id !== undefined) return Number(id);
  }
  throw new MusterError('invalid_configuration', { reason: `events.group: there is no group '${name}'` });
}
