import { type LinkOptions, type SecretOf, SshLink, type SshTrouble } from '@muster/platform/ssh';
import { type Connection, SSH_PORT, type System, SystemTrouble } from '../types.js';
import { type SshSystem, sshExec } from './exec.js';
import { SshFiles } from './files.js';
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
  const { name, host = '', port = SSH_PORT, user = '', hostKey = null } = system;
  const at = { what: `system ${name}`, host, port, user, hostKey, repin: 'change hostKey of the system' };
  const asError = ({ kind, message, cause }: SshTrouble) => new SystemTrouble(name, kind, message, { cause });
  const link = new SshLink(() => at, secret, { ...options, asError });
  return {
    files: new SshFiles(new Sftp(system.name, link, options.clock), system.root),
    exec: sshExec(system, link, options.clock),
    get resting() {
      return link.resting;
    },
    close: () => link.close(),
  };
}
