import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster } from './cluster.js';

/** What a node might write to harm whoever reads it: markup, a link of terminals, a change of direction. */
const HOSTILE =
  '<img src=x onerror=document.title=1>\\033]8;;http://evil.example\\007link\\033]8;;\\007 \\033[31mred\\033[0m \\342\\200\\256';

const COMMANDS = {
  greet: { shell: `printf '${HOSTILE}\\n'; echo line; echo careful >&2` },
  fail: { shell: 'echo lock held >&2; exit 3' },
};

/** Works through tasks: greets, fails on what is odd until it is told otherwise, and writes until then where it is to go on. */
const PLUGIN = `#!/bin/sh
echo "scaling picture $1"
case "$1" in
  slow*)
    while [ ! -e "$DIR/half" ]; do sleep 0.1; done; echo '::progress 50 half of it' >&3
    while [ ! -e "$DIR/go" ]; do sleep 0.1; done; echo done ;;
  odd*) echo "cannot read $1" >&2; exit 3 ;;
esac
`;

/** Two nodes that are web, of which web1 works through tasks, and db1: what the console is looked at on. */
export async function startFleetToLookAt(): Promise<Cluster> {
  const cluster = await Cluster.start();
  const program = join(cluster.dir, 'thumbnail.sh');
  writeFileSync(program, PLUGIN.replaceAll('$DIR', cluster.dir));
  chmodSync(program, 0o755);
  const tasks = { max: 4, plugins: { thumbnail: { program, args: ['{file}'] } } };
  await cluster.startAgents({
    web1: { commands: COMMANDS, labels: { role: 'web' }, tasks },
    web2: { commands: COMMANDS, labels: { role: 'web' } },
    db1: { commands: COMMANDS, labels: { role: 'db' } },
  });
  return cluster;
}

/** A long job that counts in `step`s until it is cancelled, on the default system of a server. */
export async function offerCounting(cluster: Cluster): Promise<void> {
  const root = join(cluster.dir, 'jobs');
  mkdirSync(root);
  await cluster.json('system', 'create', 'here', '--type', 'local', '--root', root, '--default');
  const app = join(cluster.dir, 'count.json');
  const command = ['sh', '-c', 'i=0; while sleep 0.2; do i=$((i+$step)); echo line $i; done'];
  const parameters = [{ id: 'step', value: { type: 'number', required: true } }];
  writeFileSync(app, JSON.stringify({ name: 'count', version: '1.0', command, parameters }));
  await cluster.json('app', 'create', '--file', app);
}

/** Two runbooks that greet on what is web: one for whoever may, one that a second person has to agree to. */
export async function offerGreeting(cluster: Cluster): Promise<void> {
  const greet = join(cluster.dir, 'greet.yaml');
  const definition = `description: Greets\ncommand: [greet, "{{tries}}"]\nsearch: role:web\nparameters:\n  tries: { type: number, min: 1, max: 5 }\n`;
  writeFileSync(greet, definition);
  await cluster.json('runbook', 'create', 'greet-web', '-f', greet);
  writeFileSync(greet, `${definition}approval: {}\n`);
  await cluster.json('runbook', 'create', 'greet-twice', '-f', greet);
}
