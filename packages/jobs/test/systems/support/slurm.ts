import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type Daemon, daemon, freePort, installed, run } from '../../../../platform/test/support/processes.js';
import { type Accounting, startAccounting } from './slurm-accounting.js';

export interface Slurm {
  /** What the commands need to find it. */
  readonly environment: { readonly PATH: string; readonly SLURM_CONF: string };
  readonly node: string;
  /** null: it has none. */
  readonly accounting: Accounting | null;
  command(file: string, ...args: string[]): Promise<string>;
  stopController(): Promise<void>;
  startController(): Promise<void>;
  remove(): Promise<void>;
}

const PATH = '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';

/** A real Slurm of one node with a configuration of its own, run by the user of the tests. */
export async function startSlurm({ accounted = false } = {}): Promise<Slurm> {
  const munged = installed('/usr/sbin/munged', 'munge');
  const slurmctld = installed('/usr/sbin/slurmctld', 'slurm-wlm');
  const slurmd = installed('/usr/sbin/slurmd', 'slurm-wlm');
  const directory = await mkdtemp(join(tmpdir(), 'muster-slurm-'));
  await chmod(directory, 0o755);
  const at = (name: string): string => join(directory, name);
  for (const name of ['state', 'spool']) await mkdir(at(name));
  await writeFile(at('munge.key'), randomBytes(1024), { mode: 0o600 });
  const node = hostname().split('.')[0] ?? 'localhost';
  const { username } = userInfo();
  const configuration = [
    'ClusterName=muster',
    `SlurmctldHost=${node}(127.0.0.1)`,
    `SlurmctldPort=${await freePort()}`,
    `SlurmdPort=${await freePort()}`,
    'AuthType=auth/munge',
    'CredType=cred/munge',
    `AuthInfo=socket=${at('munge.socket')}`,
    `SlurmUser=${username}`,
    `SlurmdUser=${username}`,
    `StateSaveLocation=${at('state')}`,
    `SlurmdSpoolDir=${at('spool')}`,
    `SlurmctldPidFile=${at('slurmctld.pid')}`,
    `SlurmdPidFile=${at('slurmd.pid')}`,
    `SlurmctldLogFile=${at('slurmctld.log')}`,
    `SlurmdLogFile=${at('slurmd.log')}`,
    // Clusters take cgroups; here it is the group of processes that a job is.
    'ProctrackType=proctrack/pgid',
    'TaskPlugin=task/none',
    'MpiDefault=none',
    'SelectType=select/cons_tres',
    'SelectTypeParameters=CR_Core_Memory',
    'SlurmdParameters=config_overrides',
    'PreemptType=preempt/partition_prio',
    'PreemptMode=CANCEL',
    'ReturnToService=2',
    // Long enough, on a busy machine, for what has ended to write down how.
    'KillWait=10',
    // How long a job that ended is remembered.
    `MinJobAge=${accounted ? 2 : 20}`,
    'DefMemPerNode=50',
    'JobAcctGatherType=jobacct_gather/linux',
    'JobAcctGatherFrequency=task=1',
    'JobAcctGatherParams=OverMemoryKill',
    'SchedulerParameters=sched_interval=1,batch_sched_delay=0',
    `NodeName=${node} NodeAddr=127.0.0.1 CPUs=16 RealMemory=4000 State=UNKNOWN`,
    'PartitionName=normal Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1',
    'PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9',
  ];
  const environment = { PATH, SLURM_CONF: at('slurm.conf') };
  const command = async (file: string, ...args: string[]): Promise<string> =>
    (await run(file, args, { env: environment })).stdout;

  const munge = await daemon(
    munged,
    [
      '--foreground',
      '--force',
      `--key-file=${at('munge.key')}`,
      `--socket=${at('munge.socket')}`,
      `--pid-file=${at('munged.pid')}`,
      `--log-file=${at('munged.log')}`,
      `--seed-file=${at('munged.seed')}`,
    ],
    async () => (await run('munge', ['-n', `--socket=${at('munge.socket')}`])).stdout.startsWith('MUNGE'),
  );
  const accounting = accounted ? await startAccounting(directory, at('munge.socket'), environment) : null;
  configuration.push(...(accounting?.configuration ?? ['AccountingStorageType=accounting_storage/none']));
  await writeFile(at('slurm.conf'), `${configuration.join('\n')}\n`);
  let controller: Daemon | null = null;
  const startController = async (): Promise<void> => {
    const up = async (): Promise<boolean> => (await command('scontrol', 'ping')).includes('UP');
    const start = () => daemon(slurmctld, ['-D'], up, environment);
    // It ends itself when accounting hangs up in the moment in which it looks at their connection, and is begun again by who watches over it.
    controller = await start().catch((error: Error) =>
      /_conn_readable/.test(error.message) ? start() : Promise.reject(error),
    );
  };
  const stopController = async (): Promise<void> => {
    await controller?.stop();
    controller = null;
  };
  await startController();
  const idle = async (): Promise<boolean> => (await command('sinfo', '--noheader', '--format=%T')).includes('idle');
  const worker = await daemon(...withoutProfile(slurmd, '-D'), idle, environment);
  return {
    environment,
    node,
    accounting,
    command,
    startController,
    stopController,
    async remove() {
      await worker.stop();
      await stopController();
      await accounting?.remove();
      await munge.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** What login shells of root read, which slurmd starts for the environment of each job: what they do on this machine is no part of a test. */
const PROFILES = ['.bash_profile', '.bash_login', '.profile', '.bashrc'];

/** Runs a program with namespaces of its own for mounts, in which the user's profile is empty; as it is, for users who may not. */
function withoutProfile(file: string, ...args: string[]): [string, string[]] {
  const { homedir, uid } = userInfo();
  const profiles = PROFILES.map((name) => join(homedir, name)).filter(existsSync);
  if (uid !== 0) return [file, args];
  const script = 'while [ "$1" != -- ]; do mount --bind /dev/null "$1"; shift; done; shift; exec "$@"';
  return ['unshare', ['--mount', '--', 'sh', '-ec', script, 'sh', ...profiles, '--', file, ...args]];
}
