import type { Command } from 'commander';
import { type Shell, subcommand } from '../shell.js';

export function addAgent(program: Command, shell: Shell): void {
  const agent = subcommand(program, {
    usage: 'agent',
    summary: 'the agent: runs on a managed node and executes commands',
    examples: ['muster agent --server URL --org default --name web1 --enroll TOKEN --data-dir /var/lib/muster-agent'],
  });
  void agent;
  void shell;
}
