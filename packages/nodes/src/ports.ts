import type { AgentEnvelope, AgentMessage, Dialect } from '@muster/wire';
import type { KnownNode } from './known-node.js';

/** A message whose sender, integrity and age are established. */
export interface VerifiedMessage {
  readonly node: KnownNode;
  readonly dialect: Dialect;
  readonly envelope: AgentEnvelope;
  readonly message: AgentMessage;
}
