import { userInfo } from 'node:os';

/** When the kit itself was started without one. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const TAKEN = /^(PATH|TZ|LANG|LANGUAGE|LC_[A-Z]+)$/;

/** What a program sees on a node: little of who started it, so that nothing works here by chance and not there. */
export function nodeEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  ...more: Readonly<Record<string, string>>[]
): Record<string, string> {
  const env: Record<string, string> = { PATH: DEFAULT_PATH };
  for (const [name, value] of Object.entries(own)) if (value !== undefined && TAKEN.test(name)) env[name] = value;
  const { username, homedir, shell } = userInfo();
  return Object.assign(env, { HOME: homedir, USER: username, LOGNAME: username, SHELL: shell ?? '/bin/sh' }, ...more);
}
