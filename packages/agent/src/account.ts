import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';

/** A local account, as far as switching to it needs. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

/** Looks a user up by name in the passwd file; null when there is none. */
export async function findAccount(name: string, passwd = '/etc/passwd'): Promise<Account | null> {
  for (const line of (await readFile(passwd, 'utf8')).split('\n')) {
    const [user, , uid, gid, , home = '/', shell = '/bin/sh'] = line.split(':');
    if (user !== name || uid === undefined || gid === undefined) continue;
    return { name, uid: Number(uid), gid: Number(gid), home, shell };
  }
  return null;
}

/** Whether this process may run commands as `account`: only root may become somebody else. */
export function mayBecome(account: Account): boolean {
  const own = userInfo().uid;
  return own === 0 || own === account.uid;
}
