import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Clock, dataDirError, MusterError, makeDataDir } from '@muster/wire';
import type { Logger } from 'pino';
import { bootDaemon } from './boot.js';
import { enrol } from './enrol.js';
import { startLocalEvents } from './events.js';
import { systemHost } from './host.js';
import { RETRY_FIRST_MS, RETRY_LONGEST_MS } from './limits.js';
import { type HeldLock, takePidFile } from './lock.js';
import type { Machine } from './machine.js';
import { type AgentOptions, type AgentSettings, loadIdentity, loadSettings } from './settings.js';

export interface AgentSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random: () => number;
}

export interface RunningAgent {
  readonly name: string;
  readonly incarnation: string;
  /** Whether the server is judged online, and whether the command channel has been answered. */
  readonly online: boolean;
  readonly established: boolean;
  readonly machine: Machine;
  /** A clean stop: a running command is killed with its whole tree and told as failed, the incarnation is kept. */
  stop(): Promise<void>;
  /** Reads the configuration file again (SIGHUP). A broken file is logged and the old one stays in force. */
  reload(): Promise<void>;
  /** Asks the server for the configuration now (SIGUSR1). */
  reconfigure(): void;
}

/**
 * Starts an agent. Resolves when it is set up on this machine; the server is reached by and by, and again for ever.
 * With an enrolment token it first enrols, which waits for the server.
 * Throws `invalid_configuration`, `data_dir_unusable`, `agent_running`, `enrolment_refused`.
 */
export async function startAgent(options: AgentOptions, around: AgentSurroundings): Promise<RunningAgent> {
  const settings = await loadSettings(options);
  makeDataDir(settings.dataDir, 0o711);
  const lock = await takePidFile(join(settings.dataDir, 'agent.pid')).catch((error: unknown) => {
    throw dataDirError(settings.dataDir, error);
  });
  if (lock === null) throw new MusterError('agent_running', { path: settings.dataDir });
  try {
    return await startLocked(options, settings, lock, around);
  } catch (error) {
    await lock.release();
    throw dataDirError(settings.dataDir, error);
  }
}

async function startLocked(
  options: AgentOptions,
  settings: AgentSettings,
  lock: HeldLock,
  around: AgentSurroundings,
): Promise<RunningAgent> {
  const { logger } = around;
  warnAboutPlainHttp(settings.server, logger);
  if (options.enroll !== undefined) await enrolPatiently(options, options.enroll, settings, around);
  const identity = await loadIdentity(settings);
  const events = await startLocalEvents(settings, identity, around);
  const daemon = await bootDaemon(settings, identity, { ...around, host: systemHost }).catch(async (error: unknown) => {
    await events?.stop();
    throw error;
  });
  compileAtOnce();

  let stopping: Promise<void> | null = null;
  return {
    name: settings.name,
    incarnation: daemon.incarnation,
    get online() {
      return daemon.online;
    },
    get established() {
      return daemon.established;
    },
    get machine() {
      return daemon.machine;
    },
    reconfigure: () => daemon.reconfigure(),
    async reload() {
      try {
        daemon.reload(await loadSettings(options));
        logger.info('configuration file read again');
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        logger.error(`the configuration file is not used, the old one stays in force: ${why}`);
      }
    },
    stop() {
      stopping ??= Promise.all([daemon.stop(), events?.stop()])
        .then(() => {})
        .finally(() => lock.release());
      return stopping;
    },
  };
}

/**
 * A job runs each function a few times, and jobs may be hours apart: too seldom for V8 to compile what it interprets.
 * From here on it makes machine code of a function when it is first called. What start-up alone needs is left as it is.
 */
function compileAtOnce(): void {
  setFlagsFromString('--always-sparkplug');
}

/** A server that cannot be reached yet (both boot at once) is waited for; a refusal is final. */
async function enrolPatiently(
  options: AgentOptions,
  token: string,
  settings: AgentSettings,
  around: AgentSurroundings,
): Promise<void> {
  const { clock, logger, random } = around;
  const { server, org, name, dataDir, ca } = settings;
  for (let pause = RETRY_FIRST_MS; ; pause = Math.min(pause * 2, RETRY_LONGEST_MS)) {
    try {
      return await enrol({ server, org, name, token, dataDir, ca }, around);
    } catch (error) {
      const unreachable = error instanceof MusterError && error.code === 'server_unreachable';
      if (!unreachable || options.signal?.aborted) throw error;
      logger.warn(`cannot enrol yet: ${error.message}`);
      await new Promise<void>((resolve) => {
        clock.after(pause * (0.5 + random() / 2), resolve);
        options.signal?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}

function warnAboutPlainHttp(server: URL, logger: Logger): void {
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(server.hostname);
  if (server.protocol === 'http:' && !local) {
    logger.warn({ server: server.origin }, 'plain HTTP: whoever is on the way can pose as the server; use https://');
  }
}
