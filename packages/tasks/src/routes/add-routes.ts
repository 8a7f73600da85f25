import { whilePresent } from '@muster/platform/auth';
import { type App, describedBody, headerText, parseJsonLine } from '@muster/platform/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MusterError } from '../errors.js';
import { TASK_LIMITS } from '../limits.js';
import type { NewTask } from '../ports.js';
import { invalid } from '../request/fields.js';
import { LineTooLong, linesOf } from '../request/lines.js';
import { readNewTask } from '../request/new-task.js';
import { by, existingQueue, type TaskRouteDeps } from './deps.js';
import * as schemas from './schemas.js';

/** Bytes of a line besides those of the parameters: a thousand ids to wait for, and more. */
const OPTION_BYTES = 32_768;
/** Bytes of lines that are handed to the store at once. */
const BATCH_BYTES = 4_000_000;

const NDJSON = 'application/x-ndjson';

/** Adding tasks: one, a list, or lines of any number. Who added a task stands in the task, not in the audit. */
export function addRoutes(app: App, deps: TaskRouteDeps): void {
  const { controller, maxParams } = deps;

  app.route({
    method: 'POST',
    url: '/organizations/:org/queues/:queue/tasks',
    config: { permission: 'queue:write', empowers: false, streamed: NDJSON },
    validatorCompiler: describedBody,
    schema: {
      tags: ['tasks'],
      operationId: 'addTasks',
      summary: 'Add a task, a list of tasks, or lines with a task each',
      description:
        'A list is added as a whole or not at all. Lines are added in batches, each durable before the next is read; the first that ' +
        'is refused ends it: the answer has its number, and everything before it was added.',
      params: schemas.QueueParams,
      body: schemas.AddBody,
      response: schemas.AddAnswers,
    },
    handler: async (request, reply) => {
      const { organization, params } = request;
      const { id } = existingQueue(deps, organization.id, params.queue);
      const add = (tasks: readonly NewTask[]) =>
        whilePresent(organization, controller.add(organization, id, tasks, by(deps, request, null)));
      if (request.isStreamed) return answerLines(reply, await addLines(request, maxParams, add));
      const { body } = request as { readonly body: unknown };
      if (Array.isArray(body)) return reply.code(201).send([...(await add(readList(body, maxParams)))]);
      const [added] = await add([readNewTask(body, maxParams)]);
      if (added === undefined) throw new Error('a task was neither added nor refused');
      return reply.code(201).send(added);
    },
  });
}

function readList(body: readonly unknown[], maxParams: number): readonly NewTask[] {
  const most = TASK_LIMITS.addedAtOnce;
  if (body.length === 0 || body.length > most) {
    throw invalid('tasks', `must be 1 to ${most} tasks; more go as lines, ${NDJSON}`);
  }
  return body.map((task, index) => {
    try {
      return readNewTask(task, maxParams);
    } catch (error) {
      throw named(error, `tasks.${index}`);
    }
  });
}

/** The same error, which says of which task of the list it tells. */
function named(error: unknown, task: string): unknown {
  if (!(error instanceof MusterError)) return error;
  const { field, reason, limit } = error.details as { field?: string; reason?: string; limit?: number };
  if (error.code === 'invalid_field') return invalid(field === 'task' ? task : `${task}.${field}`, reason ?? '');
  return new MusterError('invalid_params', { reason: `${task}: ${reason}`, limit: limit ?? 0 });
}

/** The first line that was refused. */
interface RefusedLine {
  readonly line: number;
  readonly error: MusterError;
}

interface AddedLines {
  readonly added: number;
  readonly existed: number;
  /** Null: all lines were taken. */
  readonly refused: RefusedLine | null;
}

type Add = (tasks: readonly NewTask[]) => Promise<readonly { readonly created: boolean }[]>;

async function addLines(request: FastifyRequest, maxParams: number, add: Add): Promise<AddedLines> {
  const batch = new Batch(add);
  let line = 1;
  try {
    for await (const bytes of linesOf(request.pieces(), maxParams + OPTION_BYTES)) {
      const task = isBlank(bytes) ? null : readNewTask(parseJsonLine(bytes), maxParams, bytes.length);
      if (task !== null && !(await batch.take(line, bytes.length, task))) return batch.result(null);
      line += 1;
    }
    await batch.flush();
    return batch.result(null);
  } catch (error) {
    const refusal = refusalOf(error, maxParams);
    if (refusal === null) throw error;
    // What came before it is added nevertheless.
    await batch.flush();
    return batch.result({ line, error: refusal });
  }
}

function refusalOf(error: unknown, limit: number): MusterError | null {
  if (error instanceof LineTooLong) return new MusterError('invalid_params', { reason: 'the line is too long', limit });
  return error instanceof MusterError ? error : null;
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** Lines that wait to be added together. */
class Batch {
  readonly #add: Add;
  #tasks: NewTask[] = [];
  #lines: number[] = [];
  #bytes = 0;
  #added = 0;
  #existed = 0;
  #refused: RefusedLine | null = null;

  constructor(add: Add) {
    this.#add = add;
  }

  /** Answers whether more may come: nothing was refused. */
  async take(line: number, bytes: number, task: NewTask): Promise<boolean> {
    this.#tasks.push(task);
    this.#lines.push(line);
    this.#bytes += bytes;
    if (this.#tasks.length === TASK_LIMITS.addedAtOnce || this.#bytes >= BATCH_BYTES) await this.flush();
    return this.#refused === null;
  }

  async flush(): Promise<void> {
    const tasks = this.#tasks;
    this.#tasks = [];
    this.#bytes = 0;
    await this.#store(tasks);
    this.#lines = [];
  }

  /** Of those that are refused together, those before the one that is the reason are added. */
  async #store(tasks: readonly NewTask[]): Promise<void> {
    if (tasks.length === 0) return;
    try {
      const answers = await this.#add(tasks);
      const created = answers.filter((one) => one.created).length;
      this.#added += created;
      this.#existed += answers.length - created;
    } catch (error) {
      if (!(error instanceof MusterError)) throw error;
      const index = Math.min(indexOfRefused(error), tasks.length - 1);
      this.#refused = { line: this.#lines[index] ?? 0, error };
      await this.#store(tasks.slice(0, index));
    }
  }

  /** @param refused What could not even be read; what the layer refused comes before it. */
  result(refused: RefusedLine | null): AddedLines {
    return { added: this.#added, existed: this.#existed, refused: this.#refused ?? refused };
  }
}

/** Of those handed in together: the first, when the error names none. */
function indexOfRefused({ details }: MusterError): number {
  const [, index = '0'] = /^tasks\.(\d+)/.exec(String((details as { field?: unknown }).field ?? '')) ?? [];
  return Number(index);
}

function answerLines(reply: FastifyReply, { added, existed, refused }: AddedLines) {
  if (refused === null) return reply.code(200).send({ added, existed });
  const { line, error } = refused;
  return reply
    .code(error.status)
    .header('x-muster-error', error.code)
    .header('x-muster-fix', headerText(error.fix))
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => JSON.stringify(body))
    .send({ error: `line ${line}: ${error.message}`, added, existed, line });
}
