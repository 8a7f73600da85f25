import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { utils } from 'ssh2';
import { fingerprint, type SshHost } from '../../src/ssh/index.js';
import { answers, type Daemon, daemon, freePort, installed, run } from './processes.js';

export interface Sshd {
  readonly system: { readonly name: string; readonly root: string } & Pick<SshHost, 'host' | 'port' | 'user'> & {
      readonly hostKey: string;
      readonly environment?: Readonly<Record<string, string>>;
    };
  /** Its process, which each session has a child of. */
  readonly pid: () => number;
  readonly privateKey: string;
  /** Of its key of this kind. */
  hostKey(kind: 'ed25519' | 'rsa' | 'ecdsa'): Promise<string>;
  /** With another configuration, or other keys of its own. */
  restart(how?: { readonly lines?: readonly string[]; readonly newKeys?: boolean }): Promise<void>;
  /** Ends it, and every session it has. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

const KINDS = ['ed25519', 'rsa', 'ecdsa'] as const;

/** A real sshd of this machine with keys and configuration of its own, that lets the user of the tests in. */
export async function startSshd(): Promise<Sshd> {
  const program = installed('/usr/sbin/sshd', 'openssh-server');
  const directory = await mkdtemp(join(tmpdir(), 'muster-sshd-'));
  const port = await freePort();
  const { username } = userInfo();
  // sshd wants it where it runs as root; Debian makes it when the service is started.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });

  const keyFile = (name: string): string => join(directory, name);
  const keygen = async (name: string, kind: string): Promise<void> => {
    await rm(keyFile(name), { force: true });
    await run('ssh-keygen', ['-q', '-t', kind, '-N', '', '-f', keyFile(name)]);
  };
  const hostKeys = (): Promise<unknown> => Promise.all(KINDS.map((kind) => keygen(`host_${kind}`, kind)));
  await Promise.all([hostKeys(), keygen('user', 'ed25519')]);

  const hostKey = async (kind: string): Promise<string> => {
    const parsed = utils.parseKey(await readFile(keyFile(`host_${kind}.pub`)));
    if (parsed instanceof Error) throw parsed;
    return fingerprint(parsed.getPublicSSH());
  };
  let sshd: Daemon | null = null;
  const start = async (lines: readonly string[]): Promise<void> => {
    const configuration = [
      `Port ${port}`,
      'ListenAddress 127.0.0.1',
      ...KINDS.map((kind) => `HostKey ${keyFile(`host_${kind}`)}`),
      `AuthorizedKeysFile ${keyFile('user.pub')}`,
      'PidFile none',
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      'PermitRootLogin yes',
      'Subsystem sftp internal-sftp',
      // A shell that is not the first reads no .bashrc, whatever is in that of who runs the tests.
      'SetEnv SHLVL=2',
      ...lines,
    ];
    await writeFile(keyFile('sshd_config'), `${configuration.join('\n')}\n`);
    sshd = await daemon(program, ['-D', '-e', '-f', keyFile('sshd_config')], () => answers(port));
  };
  const stop = async (): Promise<void> => {
    if (sshd === null) return;
    const { pid } = sshd;
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch(() => ({ stdout: '' }));
    await sshd.stop();
    sshd = null;
    for (const session of stdout.split('\n').filter((line) => line.trim() !== '')) {
      try {
        process.kill(Number(session), 'SIGKILL');
      } catch {
        // It ended with its sshd.
      }
    }
  };
  await start([]);
  return {
    system: { name: 'hpc1', host: '127.0.0.1', port, user: username, hostKey: await hostKey('ed25519'), root: '/' },
    privateKey: await readFile(keyFile('user'), 'utf8'),
    hostKey,
    pid: () => sshd?.pid ?? 0,
    async restart({ lines = [], newKeys = false } = {}) {
      await stop();
      if (newKeys) await hostKeys();
      await start(lines);
    },
    stop,
    async remove() {
      await stop();
      await rm(directory, { recursive: true });
    },
  };
}
