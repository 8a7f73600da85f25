import './argv.js';
import '../../../packages/cli/bin/before.js';
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { getRawAsset } from 'node:sea';
import { compileFunction, constants as vm } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { inflateRawSync } from 'node:zlib';

/**
 * What the single executable begins with, in each process and thread: runs one of the programs that are in it as CommonJS modules.
 * Nothing of it is ever a file with a name: other users' commands could reach it, upgrades would have to clean it up, and a home
 * directory need not be there.
 */
const INSIDE = '/proc/self/exe/';
const BUNDLE = `${INSIDE}cli/dist/bundle/`;
const NATIVE = 'native:';
const PROGRAMS = { 'cli/bin/muster.js': `${BUNDLE}main.js` };
const WRAPPING = ['exports', 'require', 'module', '__filename', '__dirname'];

const modules = new Map();
const builtIn = createRequire('/');

function load(path) {
  const known = modules.get(path);
  if (known !== undefined) return known.exports;
  const module = { exports: {}, filename: path };
  modules.set(path, module);
  // The bundle is written in ASCII (build.mjs), of which V8 needs one byte a character.
  const code = unpacked(path.slice(INSIDE.length)).latin1Slice();
  const run = compileFunction(code, WRAPPING, {
    filename: path,
    // Plugins and libraries of node owners are files, loaded as by Node.js itself.
    importModuleDynamically: vm.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  run.call(module.exports, module.exports, required, module, path, BUNDLE);
  return module.exports;
}

/** Compressed, less of the executable comes into memory. */
function unpacked(asset) {
  return inflateRawSync(getRawAsset(asset));
}

function required(id) {
  if (id.startsWith('./')) return load(BUNDLE + id.slice(2));
  if (id.startsWith(NATIVE)) return native(id.slice(NATIVE.length));
  if (id.startsWith('node:') || builtinModules.includes(id)) return builtIn(id);
  throw Object.assign(new Error(`there is no module ${id} in the single executable`), { code: 'MODULE_NOT_FOUND' });
}

/**
 * A native module must be a file for the loader of the system. It is one without a name, which nobody else can change and which is
 * gone with the process; kept open, so that threads load the very same: two of SQLite in one process would lose each other's locks.
 */
function native(name) {
  const key = `muster:${NATIVE}${name}`;
  const module = { exports: {} };
  const loaded = getEnvironmentData(key);
  if (loaded !== undefined) {
    process.dlopen(module, loaded, constants.dlopen.RTLD_LAZY);
    return module.exports;
  }
  if (!isMainThread) throw new Error(`${name} must be loaded before a thread can load it`);
  const failures = [];
  for (const directory of new Set([tmpdir(), '/var/tmp', '/dev/shm'])) {
    try {
      const path = `/proc/self/fd/${nameless(directory, unpacked(`native/${name}.node`))}`;
      process.dlopen(module, path, constants.dlopen.RTLD_LAZY);
      setEnvironmentData(key, path);
      return module.exports;
    } catch (error) {
      failures.push(`${directory}: ${error.message}`);
    }
  }
  throw new Error(`cannot load ${name}; TMPDIR must be writable and not mounted noexec (${failures.join('; ')})`);
}

function nameless(directory, content) {
  const own = mkdtempSync(join(directory, 'muster-'));
  let file;
  try {
    file = openSync(join(own, 'module'), 'wx+', 0o600);
    unlinkSync(join(own, 'module'));
    for (let at = 0; at < content.length; ) at += writeSync(file, content, at);
    return file;
  } catch (error) {
    if (file !== undefined) closeSync(file);
    throw error;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

const [, program] = process.argv;
load(PROGRAMS[program.slice(INSIDE.length)] ?? program);
