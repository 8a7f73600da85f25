/** A file or directory of this machine that cannot be written; the message is the system's reason. */
export class NotWritten extends Error {}

/** What `write` does to files of this machine. @throws NotWritten */
export async function writing<T>(write: () => T | Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw new NotWritten(systemReason(error), { cause: error });
  }
}

/** `EACCES: permission denied`: without the call and the path, which Node.js adds. */
export function systemReason(error: unknown): string {
  const [said = ''] = (error instanceof Error ? error.message : String(error)).split(', ');
  return said;
}
