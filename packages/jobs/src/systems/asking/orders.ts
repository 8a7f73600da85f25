import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Condition } from '../../machine.js';
import { Failed } from '../../types.js';
import type { AgentSystem } from '../agent/types.js';
import { SystemTrouble, type TroubleKind } from '../types.js';

/**
 * What a process beside the server asks of it: queues of tasks stand in the memory of the server, and agents speak to it alone.
 * Either may come more than once: to add the task of a job again is to find it, and a connection that nobody comes for is closed.
 */

const Text = Type.String({ maxLength: 8192 });

const AddSchema = Type.Object({
  msgType: Type.Literal('TASK_ADD'),
  answerTo: Text,
  system: Text,
  orgId: Text,
  queue: Text,
  job: Text,
  script: Text,
  stdout: Text,
  stderr: Text,
  maxSeconds: Type.Integer({ minimum: 0 }),
});
const CancelSchema = Type.Object({
  msgType: Type.Literal('TASK_CANCEL'),
  answerTo: Text,
  orgId: Text,
  task: Text,
});
const OpenSchema = Type.Object({
  msgType: Type.Literal('SYSTEM_OPEN'),
  answerTo: Text,
  orgId: Text,
  system: Text,
  node: Text,
  root: Text,
});

const OrderSchema = Type.Union([AddSchema, CancelSchema, OpenSchema]);

export type Order = Static<typeof OrderSchema>;
/** But for who is to be answered. */
export type NewOrder<T extends Order = Order> = T extends Order ? Omit<T, 'answerTo'> : never;

const WaySchema = Type.Object({
  /** Of the server that has the connection. */
  url: Text,
  /** Proves who comes for it: whoever read the answer. */
  ticket: Text,
  /** SHA-256 of the certificate that the server shows, as in `AA:BB:…`; null: one that the authorities of this machine vouch for. */
  certificate: Type.Union([Text, Type.Null()]),
});
const DoneSchema = Type.Union([Type.Object({ task: Text }), Type.Object({ way: WaySchema })]);
const AnswerSchema = Type.Union([
  DoneSchema,
  Type.Object({ failed: Text, message: Type.String() }),
  Type.Object({ trouble: Text, system: Text, message: Type.String() }),
]);

/** How to get to a connection that the server has opened. */
export type Way = Static<typeof WaySchema>;
/** What was asked for. */
export type Done = Static<typeof DoneSchema>;
export type Answer = Static<typeof AnswerSchema>;

/** null: it is none. */
export function readOrder(body: Buffer): Order | null {
  const order = parsed(body);
  return Value.Check(OrderSchema, order) ? order : null;
}

export function readAnswer(body: Buffer): Answer | null {
  const answer = parsed(body);
  return Value.Check(AnswerSchema, answer) ? answer : null;
}

/** The system that an order to open a connection names. */
export function systemOf({ orgId, system, node, root }: Static<typeof OpenSchema>): AgentSystem {
  return { orgId, name: system, node, root };
}

/** What an order is about, in errors. */
export function aboutOf(order: NewOrder): string {
  return order.msgType === 'TASK_CANCEL' ? order.task : order.system;
}

/** What went wrong. What a system did not say may be over soon, such as a database that is away. */
export function answerOf(error: unknown, order: NewOrder): Answer {
  if (error instanceof Failed) return { failed: error.condition, message: error.message };
  if (error instanceof SystemTrouble) return { trouble: error.kind, system: error.system, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { trouble: passingTrouble(order), system: aboutOf(order), message };
}

/** What was asked for. @throws Failed, SystemTrouble */
export function doneOf(answer: Answer): Done {
  if ('failed' in answer) throw new Failed(answer.failed as Condition, answer.message);
  if ('trouble' in answer) throw new SystemTrouble(answer.system, answer.trouble as TroubleKind, answer.message);
  return answer;
}

/** The trouble of a system that a server is which does not do, or does not answer, what was asked now. */
export function passingTrouble({ msgType }: NewOrder): TroubleKind {
  return msgType === 'SYSTEM_OPEN' ? 'CONNECTION_FAILURE' : 'SCHEDULER_BUSY';
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
