import { lstat, mkdir, readdir, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MusterError } from '../../errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

/*
 * Where relays that run on this machine are found: each keeps a Unix socket named after its process, so that any
 * number of them do not disturb each other. Nothing is kept in them: one that was left behind by a killed relay
 * answers nobody and is removed by whoever notices.
 */

const SOCKET = /^relay-\d+\.sock$/;
/** As `deploy/systemd/muster-relay.service` makes it. */
const SERVICE_DIRECTORY = '/run/muster-relay';

/** Makes the directory, for this user only, and answers the path of this relay's socket. */
export async function statusSocket(env: Environment): Promise<string> {
  const directory = ownDirectory(env);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { uid } = await lstat(directory);
  // Somebody else's directory at a path that anyone may take, such as in /tmp.
  if (uid !== user()) throw new MusterError('usage', { reason: `${directory} belongs to another user` });
  const path = join(directory, `relay-${process.pid}.sock`);
  // Of a killed process that had our number.
  await forgetStatusSocket(path);
  return path;
}

/** The sockets of the relays that this user may ask, oldest first. */
export async function findStatusSockets(env: Environment): Promise<readonly string[]> {
  const directories = [...new Set([ownDirectory(env), SERVICE_DIRECTORY])];
  const found = await Promise.all(directories.map(socketsIn));
  return found.flat();
}

/** A socket that nobody listens on any more. */
export async function forgetStatusSocket(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'EACCES') throw error;
  });
}

function user(): number {
  // Absent where users have no numbers, and files no owners.
  return process.getuid?.() ?? 0;
}

function ownDirectory(env: Environment): string {
  const given = env.RUNTIME_DIRECTORY;
  if (given !== undefined && given !== '') return given;
  const runtime = env.XDG_RUNTIME_DIR;
  return runtime === undefined || runtime === '' ? join(tmpdir(), `muster-${user()}`) : join(runtime, 'muster');
}

async function socketsIn(directory: string): Promise<string[]> {
  try {
    const names = (await readdir(directory)).filter((name) => SOCKET.test(name));
    const dated = await Promise.all(
      names.map(async (name) => {
        const path = join(directory, name);
        return { path, at: (await lstat(path)).birthtimeMs };
      }),
    );
    return dated.sort((a, b) => a.at - b.at).map(({ path }) => path);
  } catch (error) {
    // No relay of this user was ever started here, or one is being stopped just now.
    if (error instanceof Error && 'code' in error && ['ENOENT', 'EACCES', 'ENOTDIR'].includes(String(error.code))) {
      return [];
    }
    throw error;
  }
}
