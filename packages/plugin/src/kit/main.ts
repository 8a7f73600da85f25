import { runKit } from './run.js';

// A reader that went away (`muster-plugin run … | head`) is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

process.exitCode = await runKit(process.argv.slice(2), {
  stdin: process.stdin,
  write: (text) => void process.stdout.write(text),
  writeError: (text) => void process.stderr.write(text),
});
