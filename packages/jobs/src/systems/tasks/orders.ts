import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Condition } from '../../machine.js';
import { Failed } from '../../types.js';
import { SystemTrouble, type TroubleKind } from '../types.js';

/**
 * What a worker beside the server asks of it about tasks, and what it is answered: queues of tasks stand in the memory of the server that
 * assigns them. Either may come more than once; to add the task of a job again is to find it.
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

export type TaskOrder = Static<typeof AddSchema> | Static<typeof CancelSchema>;

const AnswerSchema = Type.Union([
  Type.Object({ task: Text }),
  Type.Object({ failed: Text, message: Type.String() }),
  Type.Object({ trouble: Text, system: Text, message: Type.String() }),
]);

export type TaskAnswer = Static<typeof AnswerSchema>;

/** null: it is none. */
export function readOrder(body: Buffer): TaskOrder | null {
  const order = parsed(body);
  return Value.Check(AddSchema, order) || Value.Check(CancelSchema, order) ? order : null;
}

export function readAnswer(body: Buffer): TaskAnswer | null {
  const answer = parsed(body);
  return Value.Check(AnswerSchema, answer) ? answer : null;
}

/** @param about What it was for. What neither is may be over soon, such as a database that is away. */
export function answerOf(error: unknown, about: string): TaskAnswer {
  if (error instanceof Failed) return { failed: error.condition, message: error.message };
  if (error instanceof SystemTrouble) return { trouble: error.kind, system: error.system, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { trouble: 'SCHEDULER_BUSY', system: about, message };
}

/** The id of the task. @throws Failed, SystemTrouble */
export function taskOf(answer: TaskAnswer): string {
  if ('task' in answer) return answer.task;
  if ('failed' in answer) throw new Failed(answer.failed as Condition, answer.message);
  throw new SystemTrouble(answer.system, answer.trouble as TroubleKind, answer.message);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}
