import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Clock, dataDirError, makeDataDir } from '@muster/base';
import { VERSION } from '@muster/base/version';
import type { Logger } from 'pino';
import { bootDaemon } from './boot.js';
import { enrol } from './enrol.js';
import { readEnrolToken } from './enrol-token.js';
import { MusterError } from './errors.js';
import { startLocalEvents } from './events.js';
import { CgroupsUnusable } from './execution/cgroup.js';
import { type CommandGroups, openCommandGroups } from './execution/command-groups.js';
import {
  KILLED_BY_GROUP,
  KILLED_BY_TREE,
  ownForker,
  type Processes,
  systemProcesses,
} from './execution/system-processes.js';
import { systemHost } from './host.js';
import { DEFAULT_INTERVAL_MS, RETRY_FIRST_MS } from './limits.js';
import type { NodeIdentity } from './link/configuration-request.js';
import { sessionCalls } from './link/session-request.js';
import type { AgentLog } from './logging.js';
import { type HeldLock, takePidFile } from './pid-file.js';
import type { Machine } from './push/machine.js';
import { type AgentOptions, type AgentSettings, changedForNextStart, loadIdentity, loadSettings } from './settings.js';
import { SystemHelpers } from './systems/helpers.js';
import { tasksDirectory } from './tasks/host-files.js';
import { HostPool } from './tasks/host-pool.js';
import { HOST_MAIN } from './tasks/host-process.js';
import type { HostEvents, TaskHosts } from './tasks/hosts.js';
import { bootOfMachine, livingHosts, readChange } from './upgrade/records.js';
import { type Resumed, resumed } from './upgrade/resume.js';
import type { UpgradeSupervisor } from './upgrade/supervised.js';

export interface AgentSurroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** The file that helpers of execution systems run; without it there are none. */
  readonly systemHelper?: string;
  /** What watches over this process, and can put another version in its place; null, or absent: nothing does. */
  readonly supervisor?: UpgradeSupervisor | null;
}

export interface RunningAgent {
  readonly name: string;
  readonly incarnation: string;
  /** Whether the server is judged online, and whether the command channel has been answered. */
  readonly online: boolean;
  readonly established: boolean;
  readonly machine: Machine;
  /** Resolves when the agent is to be stopped, so that another version goes on in its place. */
  readonly handedOver: Promise<void>;
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
 * Throws `invalid_configuration`, `data_dir_unusable`, `agent_running`, `limits_unusable`, `enrolment_refused`.
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
  const { supervisor = null } = around;
  const groups = await commandGroups(settings, logger, supervisor?.pid ?? null);
  const token = await enrolToken(options, logger);
  if (token !== null) await enrolPatiently(options, token, settings, around);
  const identity = await loadIdentity(settings);
  const events = await startLocalEvents(settings, identity, around);
  const host = { ...systemHost, processes: systemProcesses(groups) };
  const taskHosts = taskHostsOf(settings, around, host.processes);
  const systems = systemsOf(identity, around);
  let handedOver = (): void => undefined;
  const handingOver = new Promise<void>((resolve) => {
    handedOver = resolve;
  });
  const upgrading = supervisor === null ? null : { supervisor, resumed: await resumedIn(settings.dataDir), handedOver };
  const daemon = await bootDaemon(settings, identity, { ...around, host, taskHosts, systems, upgrading }).catch(
    async (error: unknown) => {
      await events?.stop();
      throw error;
    },
  );
  if (!ownForker.begin(around.clock)) logger.info('commands are started by the agent itself, slower: no muster-forker');
  compileAtOnce();

  let stopping: Promise<void> | null = null;
  return {
    name: settings.name,
    incarnation: daemon.incarnation,
    handedOver: handingOver,
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
        const reread = await loadSettings(options);
        daemon.reload(reread);
        const later = changedForNextStart(settings, reread);
        logger.info('configuration file read again');
        if (later.length > 0)
          logger.warn({ settings: later }, 'these settings count from the next start of the agent on');
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

/** The upgrade in the middle of which this agent was started; null: there is none. */
async function resumedIn(dataDir: string): Promise<Resumed | null> {
  const change = await readChange(dataDir);
  if (change === null) return null;
  const [boot, hosts] = [await bootOfMachine(), await livingHosts(dataDir)];
  return resumed(change, { version: VERSION, boot, hosts });
}

/** They outlive this agent, and are the next one's. */
function taskHostsOf(
  { dataDir, name }: AgentSettings,
  { clock, logger }: AgentSurroundings,
  processes: Processes,
): (events: HostEvents) => TaskHosts {
  const setup = { dir: tasksDirectory(dataDir), node: name, build: VERSION, main: HOST_MAIN };
  return (events) => new HostPool({ ...setup, clock, logger, processes }, events);
}

function systemsOf(identity: NodeIdentity, { clock, logger, systemHelper }: AgentSurroundings): SystemHelpers | null {
  if (systemHelper === undefined) return null;
  return new SystemHelpers({ calls: sessionCalls(identity, () => clock.now()), logger, main: systemHelper });
}

/**
 * A job runs each function a few times, and jobs may be hours apart: too seldom for V8 to compile what it interprets.
 * From here on it makes machine code of a function when it is first called. What start-up alone needs is left as it is.
 */
function compileAtOnce(): void {
  setFlagsFromString('--always-sparkplug');
}

/** Null where there are none to be had: commands are then killed by what is seen of their processes. */
async function commandGroups(
  settings: AgentSettings,
  logger: AgentLog,
  supervisor: number | null,
): Promise<CommandGroups | null> {
  const { limits, tasks } = settings.config;
  const further = Object.values(tasks?.plugins ?? {}).flatMap((plugin) => plugin.limits ?? []);
  try {
    const groups = await openCommandGroups({ dataDir: settings.dataDir, limits, further, supervisor, logger });
    logger.info({ below: groups.base.path, limits }, `commands run ${KILLED_BY_GROUP}`);
    return groups;
  } catch (error) {
    if (!(error instanceof CgroupsUnusable)) throw error;
    if (limits !== undefined || further.length > 0)
      throw new MusterError('limits_unusable', { reason: error.message }, { cause: error });
    logger.warn(`commands run ${KILLED_BY_TREE}: ${error.message}`);
    return null;
  }
}

async function enrolToken(options: AgentOptions, logger: AgentLog): Promise<string | null> {
  if (options.enroll !== undefined) return options.enroll;
  return options.enrollFile === undefined ? null : readEnrolToken(options.enrollFile, logger);
}

/** A server that cannot be reached yet (both boot at once), or cannot enrol anybody just now, is waited for; any other refusal is final. */
async function enrolPatiently(
  options: AgentOptions,
  token: string,
  settings: AgentSettings,
  around: AgentSurroundings,
): Promise<void> {
  const { clock, logger, random } = around;
  const { server, org, name, dataDir, ca } = settings;
  for (let pause = RETRY_FIRST_MS; ; pause = Math.min(pause * 2, DEFAULT_INTERVAL_MS)) {
    try {
      return await enrol({ server, org, name, token, dataDir, ca }, around);
    } catch (error) {
      if (!passes(error) || options.signal?.aborted) throw error;
      logger.warn(`cannot enrol yet: ${error.message}`);
      await new Promise<void>((resolve) => {
        clock.after(pause * (0.5 + random() / 2), resolve);
        options.signal?.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}

/** Of a server, or of what is before it, that cannot answer just now. */
const PASSING_STATUSES: readonly unknown[] = [429, 502, 503, 504];

/** Is it worth trying again? Nothing is wrong with the token or the name. */
function passes(error: unknown): error is MusterError {
  if (!(error instanceof MusterError)) return false;
  if (error.code === 'enrolment_refused') return PASSING_STATUSES.includes(error.details.status);
  return error.code === 'server_unreachable';
}

function warnAboutPlainHttp(server: URL, logger: Logger): void {
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(server.hostname);
  if (server.protocol === 'http:' && !local) {
    logger.warn({ server: server.origin }, 'plain HTTP: whoever is on the way can pose as the server; use https://');
  }
}
