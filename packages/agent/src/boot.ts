import type { Clock } from '@muster/base';
import { Daemon, type DaemonSetup, pushNote } from './daemon.js';
import { leftoverGroup } from './execution/command-groups.js';
import type { NotedRun } from './execution/run-note.js';
import { secretDirectory } from './files/secrets.js';
import type { Host } from './host.js';
import { Journal } from './incarnation.js';
import { LEFTOVER_WAIT_MS } from './limits.js';
import type { NodeIdentity } from './link/configuration-request.js';
import { ServerPin } from './link/server-pin.js';
import type { AgentLog } from './logging.js';
import type { AgentSettings } from './settings.js';

export interface BootSurroundings {
  readonly clock: Clock;
  readonly logger: AgentLog;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly host: Host;
  /** What runs tasks of queues; null: nothing does. */
  readonly taskHosts?: DaemonSetup['taskHosts'];
  /** What serves execution systems of jobs; null: nothing does. */
  readonly systems?: DaemonSetup['systems'];
}

/** Looks into how the previous run ended, clears up after it, and sets the agent to work. */
export async function bootDaemon(
  settings: AgentSettings,
  identity: NodeIdentity,
  around: BootSurroundings,
): Promise<Daemon> {
  const journal = new Journal(settings.dataDir, around.host.files);
  const past = await journal.lookBack();
  around.logger.info(
    { node: settings.name, org: settings.org, incarnation: past.incarnation, start: past.start },
    'agent starts',
  );
  const pin = await ServerPin.open(settings.dataDir, around.host.files);
  const interrupted = await pushNote(settings, around.host).read();
  if (interrupted !== null) await killLeftovers(interrupted, settings, around);
  const daemon = new Daemon({ taskHosts: null, systems: null, settings, identity, pin, journal, past, ...around });
  daemon.start(interrupted);
  return daemon;
}

/** What a crash left running would run beside the next command. */
async function killLeftovers(
  noted: NotedRun,
  settings: AgentSettings,
  { clock, logger, host }: BootSurroundings,
): Promise<void> {
  const { subject: jobId, run } = noted;
  const { grace } = settings.config;
  logger.warn(
    { job: jobId, grace },
    'the agent crashed while this job was running; what is left of it is killed before the agent goes on',
  );
  const left = await leftoverGroup(settings.dataDir, noted).catch((error: unknown) => {
    logger.warn({ err: error, group: noted.group }, 'the control group that this job had cannot be looked at');
    return null;
  });
  const since = clock.monotonic();
  const waited = () => clock.monotonic() - since;
  const gone = await host.processes.killRun(
    { leader: null, marker: run, group: left ?? host.processes.groupOf(run) },
    clock,
    grace * 1000,
    () => waited() > grace * 1000 + LEFTOVER_WAIT_MS,
  );
  const seconds = Math.round(waited() / 100) / 10;
  await host.removeSecrets(secretDirectory(settings.fileDir, run));
  if (gone) logger.info({ job: jobId, seconds }, 'nothing of this job runs any more');
  else logger.error({ job: jobId, seconds }, 'processes of this job cannot be killed');
}
