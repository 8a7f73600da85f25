import type { AgentEnvelope, AgentMessage, Dialect } from '@muster/wire';
import type { KnownNode } from './known-node.js';

/** What the nodes layer logs with; pino fits. */
export interface NodeLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** A message whose sender, integrity and age are established. */
export interface VerifiedMessage {
  readonly node: KnownNode;
  readonly dialect: Dialect;
  readonly envelope: AgentEnvelope;
  readonly message: AgentMessage;
}
