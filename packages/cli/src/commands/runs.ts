import type { Command } from 'commander';
import { clientCommand, does, type Shell } from '../shell.js';
import { count } from './queue/settings.js';
import { type Columns, tellTable } from './resource.js';

/** The command that tells what something that starts others has started, newest first. */
export function addRuns<Run>(
  parent: Command,
  shell: Shell,
  said: {
    /** What it is of, and the resource's name in paths. */
    readonly one: string;
    readonly resources: string;
    readonly summary: string;
    readonly example: string;
    readonly columns: Columns<Run>;
  },
): void {
  const usual = `muster ${said.one} runs ${said.example}`;
  const command = clientCommand(parent, {
    usage: `runs <${said.one}>`,
    summary: said.summary,
    examples: [usual, `${usual} --limit 250`],
  });
  command
    .option('--limit <n>', 'at most so many, up to 250', count('--limit', 1), 50)
    .option('--offset <n>', 'without the newest so many', count('--offset', 0), 0);
  does<{ readonly limit: number; readonly offset: number }>(command, shell, async (call) => {
    const [name = ''] = call.args;
    const { limit, offset } = call.options;
    const found = await call.client.get<Run[]>(call.client.inOrg(said.resources, name, 'runs'), { limit, offset });
    call.out.document(found);
    tellTable(call, found, said.columns, 'Outcome', { fit: true });
    if (found.length === 0) call.out.note('it has started nothing yet');
  });
}
