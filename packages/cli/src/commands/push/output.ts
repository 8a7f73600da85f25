import { EXIT } from '@muster/base';
import { type Command, Option } from 'commander';
import { MusterError } from '../../errors.js';
import type { StreamName } from '../../output.js';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { type FollowedStream, followNodes } from './follow-nodes.js';
import { jobId, takesJob } from './job-id.js';
import { jobNode, jobNodes } from './job-nodes.js';
import { followedOutput, type OutputInfo, type ReadOutput, storedOutput } from './output-stream.js';

const LF = 10;

interface OutputOptions {
  readonly node?: string;
  readonly stream?: StreamName;
  readonly follow?: boolean;
}

export function addOutput(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'output <job>',
    summary:
      'what the command wrote; stderr goes to stderr. Of one node byte for byte, but a terminal gets control characters as \\xNN; of all nodes as text, headed by their names',
    examples: [
      'muster push output JOB',
      'muster push output JOB --follow',
      'muster push output JOB --node web1 --follow',
      'muster push output JOB --node web1 --stream stdout > web1.tar',
    ],
  });
  takesJob(command);
  command
    .option('--node <name>', 'of this node; of all nodes when absent')
    .addOption(new Option('--stream <stream>', 'only this one').choices(['stdout', 'stderr']))
    .option('--follow', 'go on until the command has ended; of all nodes, lines as they come with their node in front');
  does<OutputOptions>(command, shell, async (call) => {
    const id = await jobId(call, call.args[0] ?? '');
    if (call.out.json) return allAsJson(call, id);
    if (call.options.node !== undefined) return oneNode(call, id, call.options.node);
    return allNodes(call, id);
  });
}

function streams(call: Call<OutputOptions>): readonly StreamName[] {
  return call.options.stream === undefined ? ['stdout', 'stderr'] : [call.options.stream];
}

/** A single stream asked for by name goes where it can be redirected. */
function destination({ options }: Call<OutputOptions>, stream: StreamName): StreamName {
  return options.stream === undefined ? stream : 'stdout';
}

function reading(call: Call<OutputOptions>, id: string): ReadOutput {
  return call.options.follow === true ? followedOutput(call, id) : storedOutput(call, id);
}

async function oneNode(call: Call<OutputOptions>, id: string, node: string): Promise<number> {
  const read = reading(call, id);
  const found = await Promise.all(
    streams(call).map(async (stream) => {
      const onData = call.out.foreign('bytes', destination(call, stream));
      const info = await read(node, stream, { onData });
      tellMissing(call, node, stream, info);
      return info;
    }),
  );
  if (found.some((info) => info !== null)) return EXIT.ok;
  // Which of the three is missing: the job, the node in it, or its output?
  await jobNode(call, id, node);
  throw new MusterError('no_output', { node });
}

async function allNodes(call: Call<OutputOptions>, id: string): Promise<number> {
  let any = false;
  const nodes = (await jobNodes(call, id)).map(({ node_name }) => node_name);
  const all = nodes.flatMap((node) => streams(call).map((stream) => ({ node, stream })));
  const ended = ({ node, stream }: FollowedStream, info: OutputInfo | null): void => {
    any ||= info !== null;
    tellMissing(call, node, stream, info);
  };
  if (call.options.follow === true)
    await followNodes(call, id, all, { to: (stream) => destination(call, stream), ended });
  else for (const each of all) ended(each, await oneAfterAnother(call, id, each));
  if (!any)
    call.out.note(
      'no output is stored for this job: nothing ran, or it was started with --no-capture, or by a program that does not ask for output',
    );
  return EXIT.ok;
}

/** What there is of one stream, below a heading, and ended as a line. */
async function oneAfterAnother(
  call: Call<OutputOptions>,
  id: string,
  { node, stream }: FollowedStream,
): Promise<OutputInfo | null> {
  const to = destination(call, stream);
  const write = call.out.foreign('text', to);
  let last: number | undefined;
  const info = await storedOutput(call, id)(node, stream, {
    onData: async (data) => {
      if (last === undefined) call.out.line(`==> ${printable(node)} ${stream} <==`, to);
      last = data.at(-1) ?? last;
      await write(data);
    },
    onGap: (dropped) => {
      if (last !== undefined && last !== LF) call.out.line('', to);
      call.out.line(gapText(dropped), to);
      last = LF;
    },
  });
  if (last !== undefined && last !== LF) call.out.line('', to);
  // It stands where it is.
  return info === null || info.droppedAt === null ? info : { ...info, dropped: 0 };
}

/** One JSON line per node and stream; bytes that are not UTF-8 as base64. */
async function allAsJson(call: Call<OutputOptions>, id: string): Promise<number> {
  const { node: only } = call.options;
  const names = only === undefined ? (await jobNodes(call, id)).map(({ node_name }) => node_name) : [only];
  const read = reading(call, id);
  for (const node of names) {
    for (const stream of streams(call)) {
      const chunks: Uint8Array[] = [];
      const info = await read(node, stream, { onData: (data) => void chunks.push(data) });
      if (info === null) continue;
      call.out.record({
        node_name: node,
        stream,
        ...content(Buffer.concat(chunks)),
        dropped_bytes: info.dropped,
        complete: info.complete,
        ...(info.missing !== null && { missing: info.missing }),
      });
    }
  }
  return EXIT.ok;
}

function content(bytes: Buffer): { text: string } | { base64: string } {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}

function tellMissing(call: Call<object>, node: string, stream: StreamName, info: OutputInfo | null): void {
  if (info === null) return;
  const name = `${printable(node)} ${stream}`;
  if (info.missing !== null) {
    call.out.note(`${name}: may be incomplete, what came last did not reach the server (${printable(info.missing)})`);
  } else if (info.dropped > 0) {
    call.out.note(`${name}: ${gapText(info.dropped)}`);
  }
}

function gapText(dropped: number): string {
  return `${dropped} bytes in the middle were not kept (output limit)`;
}
