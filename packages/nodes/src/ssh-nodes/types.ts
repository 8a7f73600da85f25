import type { Organization } from '@muster/platform/auth';

/** What may run on a node without an agent: as in the `agent.yaml` of those that have one, and what is not said is not allowed. */
export interface SshNodePolicy {
  readonly commands?: Readonly<Record<string, unknown>>;
  readonly allow_any?: boolean;
  readonly allow_env?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string | number | boolean>>;
  /** Seconds between TERM and KILL. */
  readonly grace?: number;
  readonly tell_commands?: boolean;
}

/** A node without an agent, on which the server itself runs commands. */
export interface SshNode {
  readonly id: string;
  readonly org: Organization;
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** `SHA256:…`; null: none is pinned yet, and nobody logs in. */
  readonly hostKey: string | null;
  /** Names of secrets: of the private key, and of a password. */
  readonly keySecret: string | null;
  readonly passwordSecret: string | null;
  readonly policy: SshNodePolicy;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What is given of one. */
export type SshNodeFields = Omit<SshNode, 'id' | 'org' | 'name' | 'createdAt' | 'updatedAt'>;

/** How the host of one is reached now. */
export interface SshStanding {
  /** `unknown`: it was not looked at yet. */
  readonly state: 'unknown' | 'reached' | 'unreachable';
  readonly since: number;
  /** Why it is not reached, in a sentence. */
  readonly trouble: string | null;
  /** A connection is open now. */
  readonly connected: boolean;
}

export interface SshTestStep {
  readonly name: 'answers' | 'host key' | 'login' | 'shell';
  readonly ok: boolean;
  readonly text: string;
}

/** What runs the commands of these nodes. */
export interface SshHosts {
  standing(node: SshNode): SshStanding;
  /** Goes the whole way to the host once, step by step, and stops at the first that fails. It trusts nothing by itself. */
  test(node: SshNode): Promise<readonly SshTestStep[]>;
  /** @throws MusterError `invalid_field` for a policy that no agent would take */
  check(policy: SshNodePolicy): void;
}
