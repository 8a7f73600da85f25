import type { PushJobNodeStatus } from '../../../api.js';
import { answerText } from '../../../body.js';
import { MusterError } from '../../../errors.js';
import type { StreamName } from '../../../output.js';
import { printable } from '../../../printable.js';
import type { Call } from '../../../shell.js';

/** What is read of the end of an output, to find its last line. */
const TAIL_BYTES = 2048;

export interface NewestFailingDeps {
  readonly call: Call<object>;
  readonly jobId: string;
  /** Whether the job keeps output. */
  readonly captured: boolean;
  readonly tell: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Of the nodes that failed, the newest, with the last line it wrote. One is asked about at a time, whatever fails meanwhile. */
export class NewestFailing {
  readonly #deps: NewestFailingDeps;
  #next: { readonly node: string; readonly status: PushJobNodeStatus } | null = null;
  #looking = false;

  constructor(deps: NewestFailingDeps) {
    this.#deps = deps;
  }

  failed(node: string, status: PushJobNodeStatus): void {
    this.#next = { node, status };
    if (!this.#looking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#next !== null && !this.#deps.signal.aborted) {
      const { node, status } = this.#next;
      this.#next = null;
      const line = this.#deps.captured ? await this.#lastLine(node) : '';
      const what = `${printable(node)} ${status.replaceAll('_', ' ')}`;
      this.#deps.tell(line === '' ? what : `${what}: ${line}`);
    }
    this.#looking = false;
  }

  /** What it wrote to stderr tells more. Empty when there is none, or none can be read now. */
  async #lastLine(node: string): Promise<string> {
    for (const stream of ['stderr', 'stdout'] as const) {
      const line = lastOf(await this.#tail(node, stream));
      if (line !== '') return line;
    }
    return '';
  }

  async #tail(node: string, stream: StreamName): Promise<string> {
    const { call, jobId, signal } = this.#deps;
    const path = call.client.inOrg('pushy', 'jobs', jobId, 'output', node, stream);
    try {
      const headers = { range: `bytes=-${TAIL_BYTES}` };
      const { body } = await call.client.send('GET', path, { accept: 'application/octet-stream', headers, signal });
      return await answerText(body);
    } catch (error) {
      if (error instanceof MusterError || signal.aborted) return '';
      throw error;
    }
  }
}

function lastOf(text: string): string {
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  return printable(line.trim());
}
