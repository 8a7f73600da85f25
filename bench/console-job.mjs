import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, call, ORG, pushJob, rounded } from './api.mjs';
import { figures, launch, signIn, traced } from './browser.mjs';
import { startServer } from './server.mjs';

export const about =
  'a browser that shows a push job on N nodes, all of which run it (--nodes): the last node, frames, heap';
export const defaults = { nodes: 10_000 };

export async function* run({ nodes, databaseUrl }) {
  const server = await startServer({ databaseUrl });
  const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
  const browser = await launch();
  try {
    console.error(`console-job: connecting ${nodes} nodes`);
    await allAvailable(server, nodes);
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await signIn(server, page);
    await page.goto(`${server.url}/console/${ORG}/push`);
    let late = 0;
    const tasks = await traced(browser, page, async () => {
      const running = pushJob(server, fleet.names);
      await page.locator('.table-row').first().waitFor();
      await page.locator('.table-row a').first().click();
      await running;
      const ended = Date.now();
      await page
        .locator('.chip', { hasText: 'succeeded' })
        .getByText(nodes.toLocaleString('en-US'), { exact: true })
        .waitFor({ timeout: 60_000 });
      late = Date.now() - ended;
    });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('HeapProfiler.collectGarbage');
    const { usedSize } = await cdp.send('Runtime.getHeapUsage');
    yield { figure: 'console-job-final', value: late, unit: 'ms', target: 1000, nodes };
    yield* figures('console-job', tasks, nodes);
    yield { figure: 'console-job-heap', value: rounded(usedSize / 1e6), unit: 'MB', target: 150, nodes };
    await seen(server, page, nodes);
  } finally {
    await browser.close();
    await fleet.stop();
    await server.stop();
  }
}

/** What the page shows must be what the server says. */
async function seen(server, page, nodes) {
  const id = page.url().slice(-32);
  const job = await (await call(server, 'GET', `/organizations/${ORG}/pushy/jobs/${id}`)).json();
  if (job.nodes.succeeded?.length !== nodes) throw new Error(`job ${id}: ${JSON.stringify(job.status)}`);
}
