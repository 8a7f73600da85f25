import { readFile } from 'node:fs/promises';

/** A local account, as far as switching to it needs. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

/** Looks a user up by name in the passwd file; null when there is none. */
export function findAccount(name: string, passwd = '/etc/passwd'): Promise<Account | null> {
  return find(passwd, (account) => account.name === name);
}

/** Whom the agent itself runs as; null when the passwd file does not say. */
export function ownAccount(passwd = '/etc/passwd'): Promise<Account | null> {
  return find(passwd, (account) => account.uid === process.getuid?.());
}

async function find(passwd: string, isIt: (account: Account) => boolean): Promise<Account | null> {
  for (const line of (await readFile(passwd, 'utf8')).split('\n')) {
    const [name = '', , uid, gid, , home = '/', shell = '/bin/sh'] = line.split(':');
    if (uid === undefined || gid === undefined) continue;
    const account = { name, uid: Number(uid), gid: Number(gid), home, shell };
    if (isIt(account)) return account;
  }
  return null;
}

/** Whether this process may run commands as `account`: only root may become somebody else. */
export function mayBecome(account: Account): boolean {
  const own = process.getuid?.();
  return own === 0 || own === account.uid;
}
