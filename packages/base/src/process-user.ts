import { userInfo } from 'node:os';

/** The user that this process runs as, for messages; in a container it may have a number only. */
export function processUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
