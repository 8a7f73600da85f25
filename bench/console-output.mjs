import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAgents } from './agents.mjs';
import { allAvailable, call, ORG, rounded } from './api.mjs';
import { launch, longestTask, signIn, traced } from './browser.mjs';
import { startServer, until } from './server.mjs';

export const about =
  'a browser on N MB that a command wrote (--megabytes): the first lines, a search through all, the longest task of the page';
export const defaults = { megabytes: 100 };

/** Coloured now and then, and what is looked for stands at the end. */
const WRITER = `
import { writeSync } from 'node:fs';
let bytes = 0;
for (let n = 0; bytes < Number(process.argv[2]) * 1e6 - 100; n++) {
  const level = n % 50 === 0 ? '\\u001b[33mWARN\\u001b[0m' : 'INFO';
  const line = new Date(n * 1000).toISOString() + ' ' + level + ' request ' + n + ' took ' + (n % 997) + ' ms\\n';
  bytes += line.length;
  for (let rest = line; rest !== ''; rest = rest.slice(writeSync(1, rest)));
}
console.log('the last line is found');
`;

export async function* run({ megabytes, databaseUrl }) {
  const server = await startServer({ databaseUrl, flags: ['--push-output-limit', `${megabytes}MiB`] });
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-output-'));
  const program = join(dir, 'write.mjs');
  writeFileSync(program, WRITER);
  const commands = { write: `${process.execPath} ${program} ${megabytes}` };
  const agents = await startAgents(server, 1, undefined, commands);
  const browser = await launch();
  try {
    await allAvailable(server, 1);
    console.error(`console-output: a command writes ${megabytes} MB`);
    const id = await written(server, agents.names);
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await signIn(server, page);
    const output = `${server.url}/console/${ORG}/push/${id}?view=output&node=${agents.names[0]}`;
    let first = 0;
    let search = 0;
    const tasks = await traced(browser, page, async () => {
      await page.goto(output);
      await page.locator('.output .row .text span').first().waitFor();
      first = await page.evaluate('performance.now()');
      await page.waitForFunction(
        () => {
          const bars = [...document.querySelectorAll('.output-bar .quiet.number')].map((one) => one.textContent);
          return bars.some((text) => / lines, .*[^…]$/.test(text));
        },
        null,
        {
          timeout: 120_000,
        },
      );
      const began = Date.now();
      await page.getByLabel('Find in the output').fill('the last line is');
      await page.getByText('1 of 1').waitFor({ timeout: 60_000 });
      search = Date.now() - began;
    });
    const [, shown] =
      /, (.*)$/.exec(await page.locator('.output-bar .quiet.number', { hasText: ' lines, ' }).innerText()) ?? [];
    if (Math.round(Number.parseFloat(shown)) < megabytes * 0.9) throw new Error(`the page has only ${shown}`);
    yield { figure: 'console-output-first', value: rounded(first), unit: 'ms', target: 1000, megabytes };
    yield { figure: 'console-output-search', value: rounded(search), unit: 'ms', target: 2000, megabytes };
    yield { ...longestTask('console-output-task', tasks), megabytes };
  } finally {
    await browser.close();
    await agents.stop();
    await server.stop();
    rmSync(dir, { recursive: true });
  }
}

async function written(server, nodes) {
  const path = `/organizations/${ORG}/pushy/jobs`;
  const posted = await call(server, 'POST', path, { command: 'write', nodes, capture_output: true });
  if (posted.status !== 201) throw new Error(`POST jobs: ${posted.status} ${await posted.text()}`);
  const { id } = await posted.json();
  await until(
    'the command to end',
    async () => (await (await call(server, 'GET', `${path}/${id}`)).json()).status === 'complete',
    300_000,
  );
  return id;
}
