import type { Connection, System } from '../types.js';
import { sshExec } from './exec.js';
import { SshFiles } from './files.js';
import { type LinkOptions, type SecretOf, SshLink } from './link.js';
import type { SshSystem } from './login.js';
import { Sftp } from './sftp.js';

export interface SshConnection extends Connection {
  /** Nobody uses it, and nothing is open. */
  readonly resting: boolean;
  close(): void;
}

/** A host as a system: commands and files of the account that is logged in there. */
export function sshConnection(
  system: SshSystem & Pick<System, 'root'>,
  secret: SecretOf,
  options: LinkOptions,
): SshConnection {
  const link = new SshLink(system, secret, options);
  return {
    files: new SshFiles(new Sftp(system.name, link, options.clock), system.root),
    exec: sshExec(system, link, options.clock),
    get resting() {
      return link.resting;
    },
    close: () => link.close(),
  };
}
