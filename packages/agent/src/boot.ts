import type { Clock } from '@muster/base';
import { Daemon, type DaemonSetup, pushNote } from './daemon.js';
import { leftoverGroup } from './execution/command-groups.js';
import type { NotedRun } from './execution/run-note.js';
import { secretDirectory } from './files/secrets.js';
import type { Host } from './host.js';
import { Journal, type LookBack } from './incarnation.js';
import { LEFTOVER_WAIT_MS } from './limits.js';
import type { NodeIdentity } from './link/configuration-request.js';
import { ServerPin } from './link/server-pin.js';
import type { AgentLog } from './logging.js';
import type { AgentSettings } from './settings.js';
import type { Resumed } from './upgrade/resume.js';

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
  /** What can replace this agent by another version; null: nothing can. */
  readonly upgrading?: DaemonSetup['upgrading'];
}

/** Looks into how the previous run ended, clears up after it, and sets the agent to work. */
export async function bootDaemon(
  settings: AgentSettings,
  identity: NodeIdentity,
  around: BootSurroundings,
): Promise<Daemon> {
  const journal = new Journal(settings.dataDir, around.host.files);
  const looked = await journal.lookBack();
  const resumed = around.upgrading?.resumed ?? null;
  const past: LookBack =
    resumed === null || resumed.incarnation === null ? looked : { incarnation: resumed.incarnation, start: 'clean' };
  around.logger.info(
    { node: settings.name, org: settings.org, incarnation: past.incarnation, start: past.start },
    'agent starts',
  );
  const pin = await ServerPin.open(settings.dataDir, around.host.files);
  const noted = await pushNote(settings, around.host).read();
  // Of an upgrade nothing was left running; one that cannot go on here has ended with the agent before.
  const own = resumed !== null && (noted === null || noted.subject === resumed.change.jobId);
  const interrupted = own ? interruptedBy(resumed) : noted;
  if (noted !== null && !own) await killLeftovers(noted, settings, around);
  const none = { taskHosts: null, systems: null, upgrading: null };
  const daemon = new Daemon({ ...none, settings, identity, pin, journal, past, ...around });
  daemon.start(interrupted);
  return daemon;
}

function interruptedBy({ incarnation, change }: Resumed): NotedRun | null {
  return incarnation === null ? { subject: change.jobId, run: '', group: null } : null;
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
