import { mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { answers, type Daemon, daemon, freePort, installed, run } from '../../../../platform/test/support/processes.js';

/** What Slurm knows of jobs when its controller has forgotten them. */
export interface Accounting {
  /** Lines of slurm.conf. */
  readonly configuration: readonly string[];
  /** A statement on its tables. */
  change(statement: string): Promise<void>;
  stop(): Promise<void>;
  start(): Promise<void>;
  remove(): Promise<void>;
}

const DATABASE = 'slurm';

/** A slurmdbd on a MariaDB of its own. @param munge Where its munged answers. */
export async function startAccounting(
  directory: string,
  munge: string,
  environment: NodeJS.ProcessEnv,
): Promise<Accounting> {
  const slurmdbd = installed('/usr/sbin/slurmdbd', 'slurmdbd');
  const at = (name: string): string => join(directory, name);
  const { username } = userInfo();
  const [databasePort, port] = [await freePort(), await freePort()];
  const database = await mariadb(at('mariadb'), username, databasePort);
  const configuration = [
    'DbdHost=localhost',
    'DbdAddr=127.0.0.1',
    `DbdPort=${port}`,
    'AuthType=auth/munge',
    `AuthInfo=socket=${munge}`,
    `SlurmUser=${username}`,
    'StorageType=accounting_storage/mysql',
    'StorageHost=127.0.0.1',
    `StoragePort=${databasePort}`,
    'StorageUser=root',
    `StorageLoc=${DATABASE}`,
    `PidFile=${at('slurmdbd.pid')}`,
    `LogFile=${at('slurmdbd.log')}`,
  ];
  // It reads none that others may read, from beside slurm.conf.
  await writeFile(at('slurmdbd.conf'), `${configuration.join('\n')}\n`, { mode: 0o600 });
  let accounting: Daemon | null = null;
  const accountingMade: Accounting = {
    configuration: [
      'AccountingStorageType=accounting_storage/slurmdbd',
      'AccountingStorageHost=127.0.0.1',
      `AccountingStoragePort=${port}`,
      `AccountingStoragePass=${munge}`,
    ],
    change: async (statement) => {
      const words = ['--no-defaults', '--user=root', `--socket=${database.socket}`, DATABASE, '--execute', statement];
      await run('mariadb', words);
    },
    async start() {
      accounting = await daemon(slurmdbd, ['-D'], () => answers(port), environment);
    },
    async stop() {
      await accounting?.stop();
      accounting = null;
    },
    async remove() {
      await accountingMade.stop();
      await database.daemon.stop();
    },
  };
  await accountingMade.start();
  return accountingMade;
}

async function mariadb(directory: string, username: string, port: number) {
  const program = installed('/usr/sbin/mariadbd', 'mariadb-server-core');
  await mkdir(directory);
  const files = ['--no-defaults', `--datadir=${join(directory, 'data')}`, `--user=${username}`];
  await run('mariadb-install-db', [...files, '--auth-root-authentication-method=normal', '--skip-test-db']);
  const socket = join(directory, 'socket');
  const words = [...files, `--socket=${socket}`, `--port=${port}`, '--bind-address=127.0.0.1', '--skip-name-resolve'];
  return { socket, daemon: await daemon(program, words, () => answers(port)) };
}
