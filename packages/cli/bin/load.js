const { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { basename, dirname, join } = require('node:path');
const { cachedDataVersionTag } = require('node:v8');
const { Script } = require('node:vm');

const HEAD = '(function (exports, require, module, __filename, __dirname) { ';
const FOOT = '\n})';

/**
 * Loads a program that was bundled into a few large files, as `require` would; none of them may `import()`. What V8 has made of each is kept in the directory `kept`: reading them anew is a
 * fifth of what the start of a server costs. A process that had to make it writes it down when it ends; what is of another version, or was made with other
 * flags of V8, has another name.
 */
exports.load = (main, kept) => {
  const directory = join(kept, String(cachedDataVersionTag()));
  const modules = new Map();
  const made = new Map();

  function load(filename) {
    const known = modules.get(filename);
    if (known !== undefined) return known.exports;
    const module = { exports: {}, filename };
    modules.set(filename, module);
    const script = compiled(filename);
    const outside = createRequire(filename);
    const inside = (id) =>
      id.startsWith('./') && id.endsWith('.js') ? load(join(dirname(filename), id)) : outside(id);
    const run = script.runInThisContext();
    run.call(module.exports, module.exports, Object.assign(inside, outside), module, filename, dirname(filename));
    return module.exports;
  }

  function compiled(filename) {
    const cachedData = readIfThere(keptOf(filename));
    const script = new Script(HEAD + readFileSync(filename, 'latin1') + FOOT, {
      filename,
      columnOffset: -HEAD.length,
      cachedData,
    });
    if (cachedData === undefined || script.cachedDataRejected) made.set(filename, script);
    return script;
  }

  const keptOf = (filename) => join(directory, basename(filename));

  process.on('exit', () => {
    try {
      // What root left there the owner of the directory could not remove.
      if (made.size === 0 || statSync(kept).uid !== process.getuid?.()) return;
      mkdirSync(directory, { recursive: true });
      for (const [filename, script] of made) {
        const draft = `${keptOf(filename)}.${process.pid}`;
        writeFileSync(draft, script.createCachedData());
        renameSync(draft, keptOf(filename));
      }
    } catch {
      // It may not write there, or the disk is full: the next one has to read the program again.
    }
  });

  return load(main);
};

function readIfThere(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}
