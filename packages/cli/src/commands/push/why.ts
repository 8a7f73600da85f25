import { named } from '@muster/base';
import type { Command } from 'commander';
import type { WaitingNode } from '../../api.js';
import { PAGE_SIZE } from '../../limits.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { saidText, timeText } from '../../summary.js';
import { jobId, takesJob } from './job-id.js';

interface Explanation {
  readonly why: readonly string[];
  readonly nodes: readonly WaitingNode[];
}

export function addWhy(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'why <job>',
    summary: 'what a job, and each of its nodes that have not ended, waits for',
    examples: ['muster push why JOB', 'muster push why 3f2a --json'],
  });
  takesJob(command);
  does<object>(command, shell, async (call) => {
    const explanation = await explanationOf(call, await jobId(call, call.args[0] ?? ''));
    call.out.document(explanation);
    for (const sentence of explanation.why) call.out.line(saidText(sentence));
    if (call.out.json || explanation.nodes.length === 0) return;
    call.out.line();
    tell(call, explanation.nodes);
  });
}

/** With all of its nodes, page by page. */
async function explanationOf(call: Call<object>, id: string): Promise<Explanation> {
  const path = call.client.inOrg('pushy', 'jobs', id, 'why');
  const nodes: WaitingNode[] = [];
  for (let after: string | undefined; ; ) {
    const page = await call.client.get<Explanation>(path, { limit: PAGE_SIZE, after });
    nodes.push(...page.nodes);
    const last = page.nodes.at(-1);
    if (last === undefined || page.nodes.length < PAGE_SIZE) return { why: page.why, nodes };
    after = last.node_name;
  }
}

/** Nodes that wait for the same stand in one line. */
function tell(call: Call<object>, nodes: readonly WaitingNode[]): void {
  const groups = new Map<string, WaitingNode[]>();
  for (const node of nodes) {
    const group = groups.get(node.reason);
    if (group === undefined) groups.set(node.reason, [node]);
    else group.push(node);
  }
  call.out.table(
    ['Nodes', 'What they do', 'Since', 'Names'],
    [...groups].map(([reason, group]) => [
      String(group.length),
      saidText(reason),
      sinceText(group),
      named(group.map(({ node_name }) => node_name)),
    ]),
  );
}

/** Of the one that does it for longest. */
function sinceText(group: readonly WaitingNode[]): string {
  const times = group.flatMap(({ since }) => since ?? []).sort((one, other) => Date.parse(one) - Date.parse(other));
  return times[0] === undefined ? '' : timeText(times[0]);
}
