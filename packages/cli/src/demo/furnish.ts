import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Call } from '../shell.js';
import { type DemoPlace, unseen } from './typed.js';

const CHECK = `description: Looks whether a disk is nearly full
command: check-disk
search: env:demo
`;

const GREET = `description: What system the web hosts run, for whoever asks a second person first
command: uname -a
search: role:web
approval: {}
`;

/** Writes a line every two seconds until somebody cancels it, or the demo is gone: jobs outlive their server. */
const watchApp = (directory: string) => ({
  name: 'watch',
  version: '1.0',
  executionType: 'CLI',
  parallelism: 'SERIAL',
  command: ['sh', '-c', WATCH, directory],
  isPublic: true,
});
const WATCH = 'n=0; while sleep 2 && test -d "$0"; do n=$((n+1)); echo "$(date +%T) looked $n times"; done';

/**
 * What a fleet has that is used: things that run by the clock and by events, that wait for somebody, that go on. Only for a demo
 * that is kept, so that the console has something to show on each screen.
 */
export async function furnish(call: Call<object>, place: DemoPlace): Promise<void> {
  const at = (name: string): string => join(place.directory, name);
  writeFileSync(at('check.yaml'), CHECK);
  writeFileSync(at('greet.yaml'), GREET);
  writeFileSync(at('watch.json'), JSON.stringify(watchApp(place.directory)));
  const mails = Array.from({ length: 8 }, (_, n) => `${JSON.stringify({ file: `letter-${n + 1}.png`, width: 80 })}\n`);
  writeFileSync(at('mail.jsonl'), mails.join(''));
  const params = ['--param', 'width=200'];
  for (const words of [
    ['runbook', 'create', 'check-disks', '-f', 'check.yaml'],
    ['runbook', 'create', 'greet-web', '-f', 'greet.yaml'],
    ['runbook', 'run', 'greet-web', '--detach'],
    ['schedule', 'create', 'nightly', '--cron', '0 3 * * *', '--queue', 'resize', '--param', 'file=all.png', ...params],
    ['rule', 'create', 'thumbs', '--on', "type = 'file.new'", '--queue', 'resize', '--param', 'file={path}', ...params],
    ['event', 'publish', 'file.new', '--attr', 'path=new.png'],
    ['queue', 'create', 'mail', '--plugin', 'thumbnail', '--threads', '4'],
    ['queue', 'pause', 'mail'],
    ['task', 'add', 'mail', '--from', 'mail.jsonl'],
    ['user', 'create', 'alice', '--key-out', 'alice.pem'],
    ['group', 'create', 'oncall', '--user', 'alice', '--user', 'admin'],
    ['node-group', 'create', 'databases', '--query', 'role:db'],
    ['node-group', 'grant', 'databases', '--group', 'oncall'],
    ['app', 'create', '--file', 'watch.json'],
    ['job', 'run', 'watch-1.0', '--name', 'watch the files'],
  ]) {
    await unseen(call, place, words);
  }
}
