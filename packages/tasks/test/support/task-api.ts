import { afterAll, beforeAll } from 'vitest';
import { startTaskServer, type TaskRequest, type TaskServer } from './task-server.js';

export interface Queue {
  readonly id: string;
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
}
export interface Task {
  readonly id: string;
  readonly status: string;
  readonly params: Readonly<Record<string, unknown>>;
}
export interface Found {
  readonly tasks: readonly Task[];
  readonly next: string | null;
}

/** Queues and tasks over HTTP, for the tests of one file. No node is there, so that what is added waits. */
export class TaskApi {
  #server: TaskServer | undefined;
  #queues = 0;

  constructor() {
    beforeAll(async () => {
      this.#server = await startTaskServer({ tasks: { max_params: 1000 } });
    });
    afterAll(() => this.#server?.close());
  }

  get server(): TaskServer {
    if (this.#server === undefined) throw new Error('the server is not there yet');
    return this.#server;
  }

  /** A new queue. */
  readonly queue = async (settings: Readonly<Record<string, unknown>> = {}): Promise<Queue> => {
    const body = { name: `queue-${++this.#queues}`, plugin: 'thumbnail', ...settings };
    return this.server.json<Queue>({ method: 'POST', path: 'queues', body });
  };

  readonly add = (name: string, body: unknown, rest: Partial<TaskRequest> = {}): Promise<Response> =>
    this.server.send({ method: 'POST', path: `queues/${name}/tasks`, body, ...rest });

  readonly addLines = (name: string, lines: readonly string[], rest: Partial<TaskRequest> = {}): Promise<Response> =>
    this.add(name, lines.join('\n'), { headers: { 'content-type': 'application/x-ndjson' }, ...rest });

  readonly addOne = async (name: string, task: object): Promise<string> =>
    ((await (await this.add(name, task)).json()) as { id: string }).id;

  readonly list = (q: string, query = ''): Promise<Found> =>
    this.server.json<Found>({ path: `tasks?q=${encodeURIComponent(q)}${query}` });
}

export async function refused(response: Response): Promise<[number, string | null, string]> {
  const { error } = (await response.json()) as { error: string | string[] };
  return [response.status, response.headers.get('x-muster-error'), [error].flat().join()];
}
