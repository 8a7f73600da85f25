import { writeFileSync } from 'node:fs';

export const PLUGIN = 'thumbnail';
/** Its first run fails. */
export const FAILING_FILE = '13.png';

/** What works through the demo's queue: a module, as its users write them. */
const SOURCE = `import { setTimeout as sleep } from 'node:timers/promises';

export async function run({ attempt, params: { file, width } }, { signal, log, progress }) {
  log(\`reading \${file}\`);
  if (file === '${FAILING_FILE}' && attempt === 1) throw new Error(\`\${file} is still being uploaded\`);
  progress(0.5, 'half way');
  await sleep(300, undefined, { signal });
  log(\`\${file} is \${width} wide now\`);
}
`;

/** Writes the plugin; returns what an agent's configuration says of tasks. */
export function installPlugin(directory: string): object {
  const file = `${directory}/${PLUGIN}.mjs`;
  writeFileSync(file, SOURCE);
  return { max: 2, plugins: { [PLUGIN]: { module: file } } };
}
