/** A host that is logged in to. */
export interface SshHost {
  /** What it is called where something is told of it: `system hpc1`. */
  readonly what: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** SHA-256 of its key, see `isPinned`; null: none is known, and no login is made. */
  readonly hostKey: string | null;
  /** What is to be done when its key was changed on purpose: `change hostKey of the system`. */
  readonly repin: string;
}

/** What proves who logs in. */
export interface SshSecret {
  /** PEM or OpenSSH. */
  readonly privateKey?: string;
  /** Of the private key. */
  readonly passphrase?: string;
  readonly password?: string;
}

export const SSH_PORT = 22;
